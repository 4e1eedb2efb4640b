//! A clock that no program can set.

use std::fs;

use nix::time::{ClockId, clock_gettime};

/// Which start of the machine this is, and the milliseconds since then, time of suspension included; `None` where the system does not
/// tell.
pub fn since_boot() -> Option<(String, u64)> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?;
    let ms = u64::try_from(time.tv_sec()).ok()? * 1000 + u64::try_from(time.tv_nsec()).ok()? / 1_000_000;
    // Its first part tells two starts apart, and is less of a trace of the machine.
    Some((id.split('-').next()?.trim().to_owned(), ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_within_one_start_of_the_machine() {
        let (first, second) = (since_boot().unwrap(), since_boot().unwrap());
        assert!(first.0 == second.0 && first.0.len() == 8 && first.1 <= second.1, "{first:?} {second:?}");
    }
}
