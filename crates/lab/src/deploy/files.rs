//! What `deploy render` writes, and the tables of what a deployment costs.

use perbuck_core::units::{MicroUsd, duration_text};
use perbuck_deploy::kubernetes::object::OPERATOR_KINDS;
use perbuck_deploy::kubernetes::render::{Create, File, Rendered, render};
use perbuck_deploy::kubernetes::{Group, label};

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

/// How the files of a cluster are applied by hand, in order, and how all of it is ended.
fn steps(rendered: &Rendered) -> String {
    let name = &rendered.cluster.name;
    let mut lines = match rendered.create {
        Create::Exists => marks(rendered),
        Create::Eksctl(_) => vec![format!("`eksctl create cluster -f {name}/1-cluster.yaml`")],
        Create::Gcloud { .. } => vec![format!("`bash {name}/1-cluster.sh`")],
    };
    for layer in &rendered.layers {
        lines.extend(layer.crds.iter().flat_map(|url| {
            let served = "`kubectl wait --for=condition=Established crd --all --timeout=60s`".to_owned();
            [format!("`kubectl apply --server-side -f {url}`"), served]
        }));
        lines.extend(layer.secrets.iter().map(|secret| {
            let (namespace, name, key) = (&secret.namespace, &secret.name, &secret.key);
            format!(
                "`openssl rand -hex 24 | tr -d '\\n' | kubectl -n {namespace} create secret generic {name} --from-file={key}=/dev/stdin`"
            )
        }));
        lines.push(format!("`kubectl apply --server-side -f {name}/{}`", layer.file));
    }
    let idle = if rendered.has_idle_clients() {
        "\nNothing runs on the machines of the client: the study names no image of perbuck (`deploy.image.agent`).\n"
    } else {
        ""
    };
    let vcpus: u32 = rendered.cluster.groups.iter().map(|group| group.count * group.machine.vcpus).sum();
    let quota = match rendered.create {
        Create::Exists => String::new(),
        _ => format!(
            " Its machines have {vcpus} vCPUs together: look whether your quota allows them, and whether the zone has the types."
        ),
    };
    let (made, ended) = (numbered(&lines), numbered(&ends(rendered)));
    format!(
        "\n## {name}\n\n`perbuck deploy up` does this.{quota} By hand it is:\n\n{made}{idle}\n`perbuck deploy down` ends it. By hand it is, \
         and volumes that are left are billed:\n\n{ended}"
    )
}

fn numbered(lines: &[String]) -> String {
    lines.iter().enumerate().map(|(n, line)| format!("{}. {line}\n", n + 1)).collect()
}

/// How the nodes of a cluster that exists are marked.
fn marks(rendered: &Rendered) -> Vec<String> {
    let of_group = |group: &Group| {
        let labels: Vec<String> = group.labels(&rendered.study).iter().map(|(key, value)| format!("{key}={value}")).collect();
        let taint = format!(" and `kubectl taint node NODE {}={}:NoSchedule`", label::ROLE, group.role);
        let taint = if group.is_tainted() { taint } else { String::new() };
        format!("for {} of {}: `kubectl label node NODE {}`{taint}", group.count, group.instance, labels.join(" "))
    };
    rendered.cluster.groups.iter().map(of_group).collect()
}

/// How all of a cluster is ended: first what the operator must end, then the volumes, then the machines.
fn ends(rendered: &Rendered) -> Vec<String> {
    let study = format!("-l {}={}", label::STUDY, rendered.study);
    let mut lines = Vec::new();
    if rendered.cluster.operator.is_some() {
        lines.push(format!("`kubectl delete {OPERATOR_KINDS} -A {study} --wait`"));
    }
    lines.push(format!("`kubectl delete namespaces {study} --wait`"));
    lines.push("`kubectl get persistentvolumes` until none of the study is left".to_owned());
    match rendered.create {
        Create::Exists => {
            lines.push(format!("`kubectl delete storageclasses,clusterroles,clusterrolebindings {study}`"));
            lines.push("take the labels and taints off the nodes".to_owned());
        }
        Create::Eksctl(_) => lines.push(format!("`eksctl delete cluster -f {}/1-cluster.yaml --wait`", rendered.cluster.name)),
        Create::Gcloud { .. } => lines.push(format!("`bash {}/9-down.sh`", rendered.cluster.name)),
    }
    lines
}
