//! Memory that a hypervisor takes from a running machine, through a driver on it (ballooning).

use crate::tree::Tree;

const VIRTIO: &str = "sys/bus/virtio/drivers/virtio_balloon";
const HYPER_V: &str = "sys/bus/vmbus/drivers/hv_balloon";
const XEN: &str = "sys/devices/system/xen_memory/xen_memory0";
/// Both count pages of 4 KiB, whatever the size of the machine's.
const PAGE: u64 = 4096;

/// The driver of a balloon, and what it says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Balloon {
    /// `virtio_balloon`, `vmw_balloon`, `hv_balloon` or `xen-balloon`.
    pub(crate) driver: &'static str,
    /// Memory that it holds now, or that it is about to take, in bytes; `None` where it is not told, as to users but root.
    pub(crate) held_bytes: Option<u64>,
    /// Memory that it took since the machine was started, and that it released.
    pub(crate) moved_bytes: Option<(u64, u64)>,
}

pub(crate) fn balloon(tree: &Tree, page_bytes: Option<u64>) -> Option<Balloon> {
    // A bound device has a link beside the driver's own files.
    let has = |driver: &str, start: &str| tree.names(driver).iter().any(|name| name.starts_with(start));
    if has(VIRTIO, "virtio") {
        return Some(of_pages(tree, "virtio_balloon", page_bytes, None));
    }
    if !tree.names("sys/module/vmw_balloon").is_empty() {
        let held = number(tree, "sys/kernel/debug/vmmemctl", "current", ':').and_then(|pages| pages.checked_mul(PAGE));
        return Some(of_pages(tree, "vmw_balloon", page_bytes, held));
    }
    if tree.names(HYPER_V).iter().any(|name| name.matches('-').count() == 4) {
        let held = number(tree, "sys/kernel/debug/hv-balloon", "pages_ballooned", ':').and_then(|pages| pages.checked_mul(PAGE));
        return Some(Balloon { driver: "hv_balloon", held_bytes: held, moved_bytes: None });
    }
    let kib = |file: &str| tree.number::<u64>(&format!("{XEN}/{file}"));
    let current = kib("info/current_kb")?;
    // Of Xen a machine knows what it has and what it should have: more than that is about to be taken.
    let held = kib("target_kb").map(|target| current.saturating_sub(target).saturating_mul(1024));
    Some(Balloon { driver: "xen-balloon", held_bytes: held, moved_bytes: None })
}

/// A driver whose pages the kernel counts.
fn of_pages(tree: &Tree, driver: &'static str, page_bytes: Option<u64>, held: Option<u64>) -> Balloon {
    let bytes = |name: &str| number(tree, "proc/vmstat", name, ' ')?.checked_mul(page_bytes?);
    let moved_bytes = bytes("balloon_inflate").zip(bytes("balloon_deflate"));
    let held =
        held.or_else(|| bytes("nr_balloon_pages")).or_else(|| moved_bytes.map(|(taken, given)| taken.saturating_sub(given)));
    Balloon { driver, held_bytes: held, moved_bytes }
}

/// The number after a name of a file that has one in each line.
fn number(tree: &Tree, file: &str, name: &str, after: char) -> Option<u64> {
    let text = tree.text(file)?;
    let value = text.lines().find_map(|line| line.split_once(after).filter(|(found, _)| found.trim() == name))?.1;
    value.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<Balloon> {
        balloon(&Tree::unpacked(text), Some(65_536))
    }

    #[test]
    fn each_hypervisor_has_its_driver_and_its_numbers() {
        let virtio = format!("== {VIRTIO}/bind\n\n== {VIRTIO}/virtio4/device\n0x0005\n");
        let counts = "== proc/vmstat\nnr_free_pages 9\nballoon_inflate 64\nballoon_deflate 16\n";
        let found = of(&(virtio.clone() + counts)).unwrap();
        let expected = Balloon { driver: "virtio_balloon", held_bytes: Some(3 << 20), moved_bytes: Some((4 << 20, 1 << 20)) };
        assert_eq!(found, expected);
        assert_eq!(of(&virtio).unwrap().held_bytes, None);
        // A kernel that has the driver and no device.
        assert_eq!(of(&format!("== {VIRTIO}/bind\n\n== {VIRTIO}/uevent\n\n{counts}")), None);

        let debug = "== sys/module/vmw_balloon/version\n1\n== sys/kernel/debug/vmmemctl\ntarget                :          1024\ncurrent               :           512\n";
        let found = of(debug).unwrap();
        assert_eq!((found.driver, found.held_bytes, found.moved_bytes), ("vmw_balloon", Some(2 << 20), None));
        let earlier = debug.replace("current               :           512", "current:                 512 pages");
        assert_eq!(of(&earlier).unwrap().held_bytes, Some(2 << 20));

        let guid = format!("== {HYPER_V}/bind\n\n== {HYPER_V}/1eccfd72-4b41-45ef-b73a-4a6e44c12924/id\n9\n");
        let found =
            of(&(guid.clone() + "== sys/kernel/debug/hv-balloon\nhost_version          : 2.0\npages_ballooned       : 256\n"));
        assert_eq!(found.unwrap().held_bytes, Some(1 << 20));
        assert_eq!(of(&guid).unwrap(), Balloon { driver: "hv_balloon", held_bytes: None, moved_bytes: None });

        let xen = format!("== {XEN}/info/current_kb\n4194304\n== {XEN}/target_kb\n3145728\n");
        assert_eq!(of(&xen).unwrap(), Balloon { driver: "xen-balloon", held_bytes: Some(1 << 30), moved_bytes: None });
        assert_eq!(of(""), None);
    }
}
