//! What the options make the workload do.

use std::collections::BTreeMap;

use perbuck_core::study::Scalar;
use perbuck_workloads::tpcc;

use super::settings::{Order, Settings};
use crate::flags::Given;
use crate::go_tpc::refused;
use crate::refused::Refused;
use crate::study::Workload;

/// Options whose parameter has another name, and those that a refusal of a database quotes.
pub(super) const PARAMETERS: [(&str, &str); 6] = [
    ("parts", "partitions"),
    ("partition-type", "partition_type"),
    ("weight", "weights"),
    ("conn-params", "session"),
    ("use-fk", "foreign_keys"),
    ("compat", "compat"),
];

/// The workload of a command line; `session` are the variables of every session of a run.
pub(super) fn workload(
    given: &Given,
    order: Order,
    settings: &Settings,
    session: &str,
) -> Result<(Workload, tpcc::Options), Refused> {
    let mut parameters = BTreeMap::new();
    let mut put = |name: &str, value: Scalar| drop(parameters.insert(name.to_owned(), value));
    of_data(given, partition_type(given)?, &mut put)?;
    if given.switch("use-fk") {
        put("foreign_keys", Scalar::Bool(true));
    }
    if !given.switch("use-clustered-index") {
        let help = "leave --use-clustered-index out: TiDB then keeps the rows in the primary key, as InnoDB does";
        return Err(Refused::usage("--use-clustered-index=false: perbuck makes no tables without a clustered index", help));
    }
    if order == Order::Run {
        of_run(given, settings.go_tpc, session, &mut put)?;
    }
    Workload::of("tpcc", parameters).map_err(|problems| refused(&problems, &PARAMETERS))
}

/// Warehouses and partitions, which the warehouses are dealt to so.
pub(crate) fn of_data(given: &Given, dealt: &str, put: &mut dyn FnMut(&str, Scalar)) -> Result<(), Refused> {
    put("warehouses", Scalar::Int(i64::from(given.count("warehouses", 1, 100_000)?)));
    let parts = given.count("parts", 1, 1_024)?;
    if parts > 1 {
        put("partitions", Scalar::Int(i64::from(parts)));
        put("partition_type", Scalar::Text(dealt.to_owned()));
    }
    Ok(())
}

/// What decides a run and not the data. An option that a command does not have is not given.
pub(crate) fn of_run(given: &Given, go_tpc: bool, session: &str, put: &mut dyn FnMut(&str, Scalar)) -> Result<(), Refused> {
    if go_tpc {
        put("compat", Scalar::Text("go-tpc".to_owned()));
    }
    for switch in ["wait", "batch"] {
        if given.switch(switch) {
            put(switch, Scalar::Bool(true));
        }
    }
    if let Some(level) = isolation(given)? {
        put("isolation", Scalar::Text(level.to_owned()));
    }
    if given.has("weight") {
        put("weights", Scalar::Text(given.list("weight").join(",")));
    }
    if !session.is_empty() {
        put("session", Scalar::Text(session.to_owned()));
    }
    Ok(())
}

fn partition_type(given: &Given) -> Result<&'static str, Refused> {
    match given.text("partition-type") {
        "1" => Ok("hash"),
        "2" => Ok("range"),
        "3" => Ok("list"),
        "4" => Err(given
            .invalid("partition-type", "perbuck makes no lists of neighbouring warehouses: 2 (range) keeps neighbours together")),
        _ => Err(given.invalid("partition-type", "use 1 (hash), 2 (range) or 3 (list, like hash)")),
    }
}

/// The levels of Go's database/sql by number.
fn isolation(given: &Given) -> Result<Option<&'static str>, Refused> {
    let none = "no driver of go-tpc has it either: use 0 (the server's), 1 (read uncommitted), 2 (read committed), 4 (repeatable read) or 6 (serializable)";
    match given.text("isolation") {
        "0" => Ok(None),
        "1" => Ok(Some("read-uncommitted")),
        "2" => Ok(Some("read-committed")),
        "4" => Ok(Some("repeatable-read")),
        "6" => Ok(Some("serializable")),
        "3" | "5" | "7" => Err(given.invalid("isolation", none)),
        _ => Err(given.invalid("isolation", "use 0, 1, 2, 4 or 6; perbuck tpcc --help says what they are")),
    }
}

#[cfg(test)]
mod tests {
    use perbuck_workloads::tpcc::{Isolation, PartitionType};

    use super::super::golden;
    use super::*;
    use crate::cases::hold_refused;

    fn read(words: &[&str]) -> Result<tpcc::Options, Refused> {
        let given = golden::read(words)?;
        let order = Order::of(&given)?;
        workload(&given, order, &Settings::read(&given)?, "").map(|(_, options)| options)
    }

    #[test]
    fn options_reach_the_workload() {
        let plain = read(&["run"]).unwrap();
        assert_eq!((plain.warehouses, plain.go_tpc, plain.isolation, plain.partitions, plain.wait), (10, false, None, 1, false));
        let all = ["run", "--wait", "--weight", "45,43,4,4,4", "--isolation=6", "--compat=go-tpc", "--warehouses=7"];
        let o = read(&all).unwrap();
        assert_eq!((o.wait, o.weights, o.warehouses), (true, Some([45, 43, 4, 4, 4]), 7));
        assert_eq!((o.isolation, o.go_tpc), (Some(Isolation::Serializable), true));
        let o = read(&["prepare", "--parts=4", "--partition-type=2", "--use-fk", "--isolation=3"]).unwrap();
        assert_eq!((o.partitions, o.partition_type, o.foreign_keys), (4, PartitionType::Range, true));
        assert_eq!(read(&["prepare", "--partition-type=3"]).unwrap().partitions, 1);
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_option() {
        let cases: &[(&[&str], &str)] = &[
            (&["run", "--warehouses=0"], "invalid argument \"0\" for \"--warehouses\" flag"),
            (&["prepare", "--parts=11", "--partition-type=2"], "--parts: --parts is 11, but there are only 10 warehouses"),
            (&["prepare", "--partition-type=4"], "invalid argument \"4\" for \"--partition-type\" flag"),
            (&["prepare", "--partition-type=x"], "invalid argument \"x\""),
            (&["run", "--isolation=3"], "invalid argument \"3\" for \"--isolation\" flag"),
            (&["run", "--isolation=8"], "invalid argument \"8\" for \"--isolation\" flag"),
            (&["run", "--weight=50,50"], "--weight: --weight is \"50,50\", not five shares"),
            (&["run", "--compat=go-tpc", "--batch"], "--batch: --batch and `compat` are both given"),
            (&["prepare", "--use-clustered-index=false"], "--use-clustered-index=false: "),
        ];
        hold_refused(read, cases);
    }
}
