//! Who made the machine, and what it runs on.

use perbuck_core::run_record::PlatformFacts;

use crate::tree::Tree;

const DMI: &str = "sys/class/dmi/id";
/// What AWS calls itself as the maker of an instance.
pub(super) const AWS: &str = "Amazon EC2";

/// Hypervisors by the maker that DMI names; a machine of a maker of hardware has none of these.
const MAKERS: [(&str, &str); 9] = [
    (AWS, "AWS Nitro"),
    ("Google", "KVM"),
    ("Microsoft Corporation", "Hyper-V"),
    ("QEMU", "KVM"),
    ("OpenStack", "KVM"),
    ("Alibaba Cloud", "KVM"),
    ("VMware, Inc.", "VMware"),
    ("innotek GmbH", "VirtualBox"),
    ("Xen", "Xen"),
];

/// Hypervisors by the clocks that they offer.
const CLOCKS: [(&str, &str); 3] = [("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen")];

pub(super) fn facts(tree: &Tree, cpuinfo: &str) -> PlatformFacts {
    let (vendor, product) = (tree.line(&format!("{DMI}/sys_vendor")), tree.line(&format!("{DMI}/product_name")));
    let instance_type = product.clone().filter(|name| vendor.as_deref() == Some(AWS) && is_instance_type(name));
    PlatformFacts { hypervisor: hypervisor(tree, cpuinfo, vendor.as_deref(), product.as_deref()), vendor, product, instance_type }
}

/// Whether a word looks like AWS's `m7g.16xlarge`. Instances on Nitro have it as their product; older ones say `HVM domU`.
fn is_instance_type(word: &str) -> bool {
    let fits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    word.split_once('.').is_some_and(|(family, size)| fits(family) && fits(size))
}

/// The hypervisor by what names one; `unknown` where only a flag of the processor tells of one.
fn hypervisor(tree: &Tree, cpuinfo: &str, vendor: Option<&str>, product: Option<&str>) -> Option<String> {
    let is_metal = |name: &&str| name.contains(".metal");
    if product.filter(is_metal).is_some() {
        return None;
    }
    let by_maker = vendor.and_then(|vendor| MAKERS.iter().find(|row| row.0 == vendor)).map(|row| row.1);
    let by_xen = || tree.line("sys/hypervisor/type").filter(|word| word == "xen").map(|_| "Xen");
    let clocks = tree.line("sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    let by_clock = || CLOCKS.iter().find(|row| clocks.split(' ').any(|clock| clock.starts_with(row.0))).map(|row| row.1);
    let has_flag = || cpuinfo.lines().find(|line| line.starts_with("flags"))?.split(' ').find(|flag| *flag == "hypervisor");
    let found = by_maker.or_else(by_xen).or_else(by_clock).or_else(|| has_flag().map(|_| "unknown"));
    found.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(vendor: &str, product: &str, more: &str) -> (Option<String>, Option<String>) {
        let dmi = format!("== {DMI}/sys_vendor\n{vendor}\n== {DMI}/product_name\n{product}\n{more}");
        let found = facts(&Tree::unpacked(&dmi), "");
        (found.hypervisor, found.instance_type)
    }

    #[test]
    fn the_platform_names_the_hypervisor_and_on_aws_the_instance_type() {
        let some = |hypervisor: &str, instance: &str| (Some(hypervisor.to_owned()), Some(instance.to_owned()));
        assert_eq!(of(AWS, "r8g.16xlarge", ""), some("AWS Nitro", "r8g.16xlarge"));
        assert_eq!(of(AWS, "u-6tb1.112xlarge", ""), some("AWS Nitro", "u-6tb1.112xlarge"));
        assert_eq!(of(AWS, "m6g.metal", ""), (None, Some("m6g.metal".to_owned())));
        assert_eq!(of("Google", "Google Compute Engine", ""), (Some("KVM".to_owned()), None));
        assert_eq!(of("Xen", "HVM domU", ""), (Some("Xen".to_owned()), None));
        assert_eq!(of("Huawei", "TaiShan 2280", ""), (None, None));
        let clock = "== sys/devices/system/clocksource/clocksource0/available_clocksource\ntsc kvm-clock\n";
        assert_eq!(of("Maker", "Box", clock), (Some("KVM".to_owned()), None));
    }

    #[test]
    fn a_flag_tells_of_a_hypervisor_without_a_name() {
        let found = facts(&Tree::unpacked(""), "flags\t\t: fpu aes hypervisor lm\n");
        assert_eq!(found.hypervisor.as_deref(), Some("unknown"));
        assert_eq!(facts(&Tree::unpacked(""), "flags\t\t: fpu aes lm\n"), PlatformFacts::default());
    }
}
