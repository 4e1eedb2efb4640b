//! `instances.json` of ec2instances.info: a list of machine types, each with its rates and its prices by region and system.

use std::io::BufRead;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::ImportError;
use super::collect::{ACCELERATED, Collector, Shape};
use super::names::Provider;
use super::number::{Decimal, shown};
use super::stream::{Items, List, Pairs, one, token};
use crate::snapshot::{Commitment, Rate, Rates};
use perbuck_core::units::MicroUsd;

pub(crate) fn read(list: &mut dyn BufRead, into: &mut Collector) -> Result<String, ImportError> {
    into.provider_is(Provider::Aws, 1)?;
    one(list, List(&mut Types(into), "a list of machine types"))?;
    if into.commitments {
        into.note(
            "this list spreads what is paid at the start over the hours of the term, so no commitment has an upfront price",
        );
    }
    Ok(String::new())
}

struct Types<'a>(&'a mut Collector);

/// A machine type; the words are those of the file.
#[derive(Deserialize)]
struct Type {
    instance_type: String,
    #[serde(rename = "vCPU")]
    vcpu: Option<f64>,
    memory: Option<f64>,
    #[serde(default)]
    arch: Vec<String>,
    physical_processor: Option<String>,
    #[serde(rename = "GPU")]
    gpu: Option<f64>,
    baseline_bandwidth_gbps: Option<f64>,
    burst_bandwidth_gbps: Option<f64>,
    ebs_baseline_bandwidth: Option<f64>,
    ebs_max_bandwidth: Option<f64>,
    ebs_baseline_iops: Option<f64>,
    ebs_iops: Option<f64>,
    pricing: Pairs<BySystem>,
}

/// Prices by system; of the many only Linux is looked at.
#[derive(Deserialize)]
struct BySystem {
    linux: Option<Prices>,
}

#[derive(Deserialize)]
struct Prices {
    ondemand: Option<Box<RawValue>>,
    spot_avg: Option<Box<RawValue>>,
    #[serde(default)]
    reserved: Option<Pairs<Box<RawValue>>>,
}

impl Items for Types<'_> {
    type Item = Type;

    fn item(&mut self, machine: Type) -> Result<(), String> {
        let name = &machine.instance_type;
        if machine.gpu.unwrap_or(0.0) > 0.0 {
            self.0.skip(ACCELERATED);
            return Ok(());
        }
        let vcpu = machine.vcpu.filter(|n| n.fract() == 0.0 && (1.0..=65_536.0).contains(n));
        let (Some(vcpu), Some(memory_gib)) = (vcpu, machine.memory.filter(|n| *n > 0.0 && *n < 1e6)) else {
            return Err(format!("`{}` has {:?} vCPU and {:?} GiB of memory", shown(name), machine.vcpu, machine.memory));
        };
        let arm = |a: &String| a == "arm64" || a.starts_with("arm64_");
        let arch = (!machine.arch.is_empty()).then(|| if machine.arch.iter().any(arm) { "aarch64" } else { "x86_64" });
        let cpu = machine.physical_processor.clone().unwrap_or_default();
        let shape = Shape { name: name.clone(), vcpu: vcpu as u32, memory_gib, arch, cpu, rates: rates(&machine) };
        for (region, by_system) in &machine.pricing.0 {
            let Some(prices) = &by_system.linux else {
                self.0.skip("no Linux price");
                continue;
            };
            if self.0.unwanted(&Provider::Aws, region, name) {
                continue;
            }
            self.prices(region, &shape, prices).map_err(|why| format!("`{}` in {}: {why}", shown(name), shown(region)))?;
        }
        Ok(())
    }
}

impl Types<'_> {
    fn prices(&mut self, region: &str, shape: &Shape, prices: &Prices) -> Result<(), String> {
        let Some(price) = prices.ondemand.as_deref().map(token).filter(|t| !["", "N/A", "null"].contains(t)) else {
            self.0.skip("no on-demand price");
            return Ok(());
        };
        let Some(price) = self.0.price(price)? else { return Ok(()) };
        self.0.instance(region, shape, price);
        let spot = prices.spot_avg.as_deref().map(token).filter(|t| !["N/A", "null"].contains(t)).unwrap_or("");
        self.0.spot_text(region, &shape.name, spot).map_err(|why| format!("spot_avg: {why}"))?;
        let reserved = prices.reserved.as_ref().filter(|_| self.0.commitments);
        for (term, price) in reserved.into_iter().flat_map(|r| &r.0) {
            let Some((name, months)) = commitment(term) else {
                self.0.skip(format!("commitment `{}`, which is not known", shown(term)));
                continue;
            };
            let usd = Decimal::parse(token(price)).and_then(Decimal::exact).map_err(|why| format!("{}: {why}", shown(term)))?;
            if usd.listed.is_some() {
                self.0.rounded();
            }
            let commitment = Commitment { name, months, upfront: MicroUsd(0), usd_per_hour: usd.usd };
            self.0.commitment(region, &shape.name, commitment);
        }
        Ok(())
    }
}

/// `yrTerm1Standard.noUpfront` as `1y-no-upfront`.
fn commitment(term: &str) -> Option<(String, u32)> {
    let (class, paid) = term.strip_prefix("yrTerm")?.split_once('.')?;
    let (years, months) = match class.get(..1)? {
        "1" => ("1y", 12),
        "3" => ("3y", 36),
        _ => return None,
    };
    let class = match class.get(1..)? {
        "Standard" => "",
        "Convertible" => "convertible-",
        "Savings" => "savings-plan-",
        _ => return None,
    };
    let paid = match paid {
        "noUpfront" => "no-upfront",
        "partialUpfront" => "partial-upfront",
        "allUpfront" => "all-upfront",
        _ => return None,
    };
    Some((format!("{years}-{class}{paid}"), months))
}

fn rates(machine: &Type) -> Rates {
    let number =
        |n: Option<f64>, factor: f64| n.map(|n| (n * factor).round()).filter(|n| (1.0..=1e8).contains(n)).map(|n| n as u32);
    let rate = |baseline, burst, factor| {
        let (baseline, burst) = (number(baseline, factor), number(burst, factor));
        Rate { baseline, burst: burst.filter(|b| baseline.is_none_or(|base| *b > base)) }
    };
    Rates {
        network_mbit_s: rate(machine.baseline_bandwidth_gbps, machine.burst_bandwidth_gbps, 1000.0),
        volume_mbit_s: rate(machine.ebs_baseline_bandwidth, machine.ebs_max_bandwidth, 1.0),
        volume_iops: rate(machine.ebs_baseline_iops, machine.ebs_iops, 1.0),
    }
}
