//! The properties of TiKV as a target.

use perbuck_database::registry::AnyTarget;

use super::properties::Properties;
use super::settings::switch;
use crate::refused::Refused;
use crate::target::with_options;

/// Properties with the options of an address that say the same, in its words.
const SAME: [(&str, &str); 9] = [
    ("tikv.type", "type"),
    ("tikv.mode", "mode"),
    ("tikv.keyspace", "keyspace"),
    ("tikv.conncount", "connections"),
    ("tikv.batchsize", "batch_size"),
    ("tikv.tls", "tls"),
    ("tikv.ca", "ca"),
    ("tikv.cert", "cert"),
    ("tikv.key", "key"),
];

pub(super) fn target(properties: &Properties) -> Result<AnyTarget, Refused> {
    let pds: Vec<&str> = properties.text("tikv.pd").split(',').map(str::trim).filter(|pd| !pd.is_empty()).collect();
    let given = SAME.iter().map(|(property, option)| (*option, properties.text(property).to_owned()));
    let mut options: Vec<(&str, String)> = given.filter(|(_, value)| !value.is_empty()).collect();
    for (property, option) in [("tikv.async_commit", "async_commit"), ("tikv.one_pc", "one_pc")] {
        options.push((option, if switch(properties, property)? { "on" } else { "off" }.to_owned()));
    }
    match properties.text("tikv.apiversion").to_ascii_uppercase().as_str() {
        "V1" => {}
        "V2" => options.push(("api", "v2".to_owned())),
        "V1TTL" => return Err(Refused::usage("tikv.apiversion V1TTL is not supported", "use V1 or V2")),
        other => return Err(Refused::usage(format!("tikv.apiversion is \"{other}\""), "use V1 or V2")),
    }
    let refused = |r: Refused| Refused { message: format!("the properties of TiKV: {}", r.message), ..r };
    with_options(&format!("tikv://{}/", pds.join(",")), &options).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::super::golden;
    use super::*;
    use crate::cases::hold_refused;

    fn address(words: &[&str]) -> Result<String, Refused> {
        Ok(target(&golden::properties(words)?)?.address())
    }

    #[test]
    fn properties_become_an_address() {
        assert_eq!(address(&[]).unwrap(), "tikv://127.0.0.1:2379/?type=raw");
        let txn = ["-p", "tikv.pd=a:1, b", "-p", "tikv.type=txn", "-p", "tikv.one_pc=false", "-p", "tikv.mode=pessimistic"];
        assert_eq!(address(&txn).unwrap(), "tikv://a:1,b:2379/?type=txn&mode=pessimistic&one_pc=off");
        let v2 = ["-p", "tikv.apiversion=v2", "-p", "tikv.keyspace=5", "-p", "tikv.batchsize=0", "-p", "tikv.conncount=4"];
        assert_eq!(address(&v2).unwrap(), "tikv://127.0.0.1:2379/?type=raw&api=v2&keyspace=5&connections=4&batch_size=0");
        let cases: &[(&[&str], &str)] = &[
            (&["-p", "tikv.type=coprocessor"], "…`coprocessor` is not a value of `type`"),
            (&["-p", "tikv.apiversion=v3"], "…tikv.apiversion is \"V3\""),
            (&["-p", "tikv.keyspace=5"], "…version 1 of TiKV's API has no keyspaces"),
            (&["-p", "tikv.one_pc=perhaps"], "…tikv.one_pc is \"perhaps\""),
        ];
        hold_refused(address, cases);
    }
}
