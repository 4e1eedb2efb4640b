//! Where the client stands: on which machines, in which zone, and whether it may be far from the servers.

use super::read::node::read_node;
use super::read::word;
use super::{Located, Node};
use crate::toml_reader::Section;

/// A round trip above this is that of a wide-area network, in nanoseconds. Light in fibre goes 500 km and back in that time; the zones of
/// a cloud's region are within 100 km.
pub const WIDE_AREA_NS: u64 = 5_000_000;

/// Whose network the client is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stands {
    /// One client, or one fleet of agents, drives all contenders.
    #[default]
    Apart,
    /// Each contender is driven by agents in its own network.
    Beside,
}

/// The client as a study declares it.
#[derive(Debug, Clone, Default)]
pub struct ClientSpec {
    /// Whose network it is in.
    pub stands: Stands,
    /// Whether it may be further from a server than [`WIDE_AREA_NS`].
    pub wide_area: bool,
    /// The zone of its machines.
    pub zone: Option<Located<String>>,
}

/// The table `[client]`, and its machines, which are shown beside those of each contender and never priced with them.
pub(super) fn read_client(table: Option<&Section<'_>>) -> Option<(ClientSpec, Vec<Node>)> {
    let Some(s) = table else { return Some(Default::default()) };
    let stands = word(s, "stands", &[("apart", Stands::Apart), ("beside", Stands::Beside)]).unwrap_or_default();
    let wide_area = s.boolean("wide_area").is_some_and(|wide| wide.value);
    let zone = s.text("zone");
    let nodes = s.each("node", |s| read_node(s, Some("client")));
    s.finish();
    let nodes = nodes?.into_iter().map(|node| Node { priced: false, ..node }).collect();
    Some((ClientSpec { stands, wide_area, zone }, nodes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Study;

    fn study(client: &str) -> Result<Study, Vec<crate::problem::Problem>> {
        let text = format!(
            "schema = 1\nname = \"s\"\ncontrol = \"a\"\n{client}\n[[contender]]\nname = \"a\"\ntarget = \"sqlite:a.db\"\n\
             node = [{{ role = \"db\", instance = \"m1\", zone = \"z-2\" }}]\n\
             [[workload]]\nname = \"w\"\nkind = \"k\"\n[sweep]\nconnections = [1]\n"
        );
        Study::read("s.toml", &text, &[])
    }

    #[test]
    fn a_client_stands_apart_and_near_unless_the_study_says_otherwise() {
        let plain = study("").unwrap();
        assert_eq!((plain.client.stands, plain.client.wide_area), (Stands::Apart, false));
        let own = "[client]\nstands = \"beside\"\nwide_area = true\nzone = \"z-1\"\nnode = [{ instance = \"m2\", count = 4 }]";
        let beside = study(own).unwrap();
        assert_eq!((beside.client.stands, beside.client.wide_area), (Stands::Beside, true));
        let nodes: Vec<_> = beside.contenders[0].nodes.iter().map(|n| (n.role.as_str(), n.count, n.priced)).collect();
        assert_eq!(nodes, [("db", 1, true), ("client", 4, false)], "shown, and not priced");
        assert!(beside.contenders[1].nodes.is_empty(), "a control has the machines of its twin");
        assert_eq!(beside.contenders[0].nodes[0].zone.as_deref(), Some("z-2"));
        assert_eq!(plain.changes_since(&beside), ["client.stands: beside → apart"]);
        assert_eq!(
            plain.fingerprint(),
            study("[client]\nwide_area = true").unwrap().fingerprint(),
            "a permission measures nothing"
        );
    }

    #[test]
    fn wrong_words_are_named() {
        let problems = study("[client]\nstands = \"outside\"\nfar = true").unwrap_err();
        let text: String = problems.iter().map(ToString::to_string).collect();
        assert!(
            text.contains("`stands` is \"outside\"") && text.contains("\"apart\", \"beside\"") && text.contains("far"),
            "{text}"
        );
    }
}
