//! What `deploy render` writes, and the tables of what a deployment costs.

use perbuck_core::units::{MicroUsd, duration_text};
use perbuck_deploy::kubernetes::render::{Create, File, Rendered, render};

use super::{CostItem, Spent, cost_items, hourly, plan};
use crate::error::LabError;
use crate::inputs::Inputs;

/// The heads of the table of costs.
pub const COST_HEADS: &str = "cluster | for | what | #count | #a month | bill";
/// The heads of the table of what was spent.
pub const SPENT_HEADS: &str = "what | #count | #time of all | #cost";
/// What a rendering holds beside the files of clusters.
const README: &str = "README.md";

/// All files of a study's deployment.
///
/// # Errors
/// A study that cannot be deployed.
pub fn files(inputs: &Inputs) -> Result<Vec<File>, LabError> {
    let plan = plan(inputs)?;
    let rendered = render(&plan);
    let items = cost_items(inputs, &plan);
    let readme = File { path: README.to_owned(), text: readme(inputs, &rendered, &items) };
    Ok(std::iter::once(readme).chain(rendered.iter().flat_map(Rendered::files)).collect())
}

/// What a deployment makes, with what each part costs, as a table.
///
/// # Errors
/// A study that cannot be deployed.
pub fn cost_rows(inputs: &Inputs) -> Result<Vec<Vec<String>>, LabError> {
    let items = cost_items(inputs, &plan(inputs)?);
    Ok(items.iter().map(row).collect())
}

/// What was spent, as a table.
pub fn spent_rows(spent: &[Spent]) -> Vec<Vec<String>> {
    let row = |one: &Spent| {
        let time = if one.seconds == 0 { "0 s".to_owned() } else { duration_text(one.seconds * 1_000_000_000) };
        vec![one.what.clone(), one.count.to_string(), time, one.cost.map_or_else(no_price, |cost| cost.to_string())]
    };
    spent.iter().map(row).collect()
}

fn row(item: &CostItem) -> Vec<String> {
    let of =
        [item.contender.as_str(), item.role.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let of = if of.is_empty() { "all".to_owned() } else { of };
    let all = item.each.map(|each| MicroUsd(each.0 * i64::from(item.count)).to_string());
    let month = all.unwrap_or_else(no_price);
    vec![item.cluster.clone(), of, item.what.clone(), item.count.to_string(), month, item.bill.text()]
}

fn no_price() -> String {
    "no price".to_owned()
}

fn readme(inputs: &Inputs, rendered: &[Rendered], items: &[CostItem]) -> String {
    let (an_hour, unpriced) = hourly(inputs, items);
    let but = if unpriced { ", without what has no price" } else { "" };
    let mut out = format!(
        "# {}\n\nWhat `{}` deploys, written by perbuck {}. The clusters cost {an_hour} an hour{but}; `perbuck deploy up` says so and asks.\n\n",
        inputs.study.name,
        inputs.name,
        env!("CARGO_PKG_VERSION"),
    );
    let heads = COST_HEADS.replace('#', "");
    out += &format!("| {heads} |\n|{}\n", "---|".repeat(heads.split('|').count()));
    for item in items {
        out += &format!("| {} |\n", row(item).join(" | "));
    }
    for one in rendered {
        out += &steps(one);
    }
    out
}

/// How the files of a cluster are applied by hand, in order.
fn steps(rendered: &Rendered) -> String {
    let name = &rendered.cluster.name;
    let made = match rendered.create {
        Create::Exists => "The cluster exists; perbuck marks the nodes that it uses with labels and taints.".to_owned(),
        Create::Eksctl(_) => format!("`eksctl create cluster -f {name}/1-cluster.yaml`"),
        Create::Gcloud { .. } => format!("`{name}/1-cluster.sh`"),
    };
    let mut lines = vec![made];
    for layer in &rendered.layers {
        lines.extend(layer.crds.iter().map(|url| format!("`kubectl apply --server-side -f {url}`")));
        lines.extend(layer.secrets.iter().map(|secret| {
            format!("a secret `{}` with a random `{}` in namespace `{}`", secret.name, secret.key, secret.namespace)
        }));
        lines.push(format!("`kubectl apply --server-side -f {name}/{}`", layer.file));
    }
    let numbered: String = lines.iter().enumerate().map(|(n, line)| format!("{}. {line}\n", n + 1)).collect();
    let idle = if rendered.has_idle_clients() {
        "\nNothing runs on the machines of the client: the study names no image of perbuck (`deploy.image.agent`).\n"
    } else {
        ""
    };
    format!("\n## {name}\n\n`perbuck deploy up` does this; by hand it is:\n\n{numbered}{idle}")
}
