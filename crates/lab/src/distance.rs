//! How far the client is from the servers, by round trips of a statement. In a wide-area network the client measures the network.

use std::time::Duration;

use perbuck_core::run_record::Distance;
use perbuck_core::study::{Contender, Study, WIDE_AREA_NS};
use perbuck_core::units::duration_text;

use crate::error::LabError;
use crate::stage::Stage;

/// How far the servers of a stage are from this process, where that can be told.
pub(crate) fn measured(stage: &Stage) -> Result<Option<Distance>, LabError> {
    let found = stage.server.distance().map_err(|e| LabError::target(&stage.title, &e))?;
    let ns = |time: Duration| time.as_nanos() as u64;
    Ok(found.map(|found| Distance { statement_ns: ns(found.statement), packet_ns: found.packet.map(ns) }))
}

/// Refuses a client that is far from a server, where the study does not allow it. `who` is the client.
pub(crate) fn near_enough(study: &Study, who: &str, contender: &str, distance: Option<Distance>) -> Result<(), LabError> {
    let far = distance.map(|distance| distance.statement_ns).filter(|ns| *ns > WIDE_AREA_NS && !study.client.wide_area);
    let Some(ns) = far else { return Ok(()) };
    let (took, limit) = (duration_text(ns), duration_text(WIDE_AREA_NS));
    Err(LabError::refused(
        format!(
            "contender `{contender}`: a statement from {who} takes {took} to its server and back, above {limit}: a wide-area network"
        ),
        "start the client in the server's region, or write `wide_area = true` in `[client]` if the distance is meant",
    ))
}

/// The same for this process and all stages, of which each `workloads` are of one contender.
pub(crate) fn all_near_enough(study: &Study, stages: &[Stage]) -> Result<(), LabError> {
    let each = stages.chunks(study.workloads.len().max(1)).filter_map(|of_one| of_one.first());
    study
        .contenders
        .iter()
        .zip(each)
        .filter(|(contender, _)| contender.control_of.is_none())
        .try_for_each(|(contender, stage)| near_enough(study, "this machine", &contender.name, measured(stage)?))
}

/// That the study names a zone for the client and another one for all machines of a contender.
pub(crate) fn other_zones(study: &Study) -> Vec<String> {
    let Some(client) = &study.client.zone else { return Vec::new() };
    let client = client.value.as_str();
    let other = |contender: &Contender| {
        let zones: Vec<&str> =
            contender.nodes.iter().filter(|node| node.priced).filter_map(|node| node.zone.as_deref()).collect();
        let first = zones.first().filter(|_| !zones.contains(&client))?;
        Some(format!(
            "the client is in zone {client}, and contender `{}` in {first}: each round trip crosses zones",
            contender.name
        ))
    };
    study.contenders.iter().filter_map(other).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;

    fn study(client: &str) -> Study {
        let text = format!(
            "schema = 1\nname = \"s\"\n{client}\n[[contender]]\nname = \"a\"\ntarget = \"mysql://h/d\"\n\
             node = [{{ role = \"db\", instance = \"m1\", zone = \"z-2\" }}]\n[[workload]]\nname = \"w\"\nkind = \"k\"\n\
             [sweep]\nconnections = [1]\n"
        );
        Study::read("s.toml", &text, &[]).unwrap()
    }

    #[test]
    fn a_client_beyond_the_region_is_refused_unless_it_is_meant() {
        let told = |client: &str, ms: u64| {
            let distance = Distance { statement_ns: ms * 1_000_000, packet_ns: None };
            near_enough(&study(client), "agent load-1:7117", "a", Some(distance)).map_err(|e| e.to_string())
        };
        assert_eq!((told("", 5), told("[client]\nwide_area = true", 80)), (Ok(()), Ok(())));
        assert_eq!(near_enough(&study(""), "this machine", "a", None).ok(), Some(()));
        let far = told("", 31).unwrap_err();
        for part in ["contender `a`", "agent load-1:7117", "31.0 ms", "above 5.00 ms", "wide_area = true"] {
            assert!(far.contains(part), "{part}: {far}");
        }
    }

    #[test]
    fn another_zone_is_told_where_both_are_named() {
        assert!(other_zones(&study("")).is_empty() && other_zones(&study("[client]\nzone = \"z-2\"")).is_empty());
        let told = other_zones(&study("[client]\nzone = \"z-1\""));
        assert_eq!(told, ["the client is in zone z-1, and contender `a` in z-2: each round trip crosses zones"]);
    }
}
