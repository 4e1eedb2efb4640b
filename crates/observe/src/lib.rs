//! What can be seen of the machine and its processes: facts of the host, the emulator if there is one, CPU times, and builds of programs.
//!
//! Everything here reads the running system (`/proc`, `uname`, `getrusage`); what is read is parsed by pure functions.
//! Nothing fails: a fact that the system does not tell is absent, zero or the word "unknown", as each item says.
//!
//! ```
//! use perbuck_observe::{cpu_of, host, own_cpu};
//!
//! let facts = host();
//! assert!(facts.cpus >= 1 && !facts.cpu_model.is_empty());
//!
//! let before = own_cpu();
//! let used = own_cpu().minus(before);
//! assert!(used.user_ns + used.system_ns == used.total_ns());
//! assert!(cpu_of(std::process::id()).is_some() && cpu_of(u32::MAX).is_none());
//! ```

#[cfg(target_os = "linux")]
mod boot;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported/boot.rs"]
mod boot;
mod counters;
mod cpu_model;
mod cpu_time;
pub mod doctor;
mod emulator;
#[cfg(target_os = "linux")]
mod ethtool;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported/ethtool.rs"]
mod ethtool;
mod facts;
mod file_system;
mod host;
mod page_cache;
mod process;
mod processors;
mod profile;
mod program;
pub mod setting;
pub mod steering;
mod tree;
mod withheld;

pub use boot::since_boot;
pub use counters::{Counters, Interrupts, counters, is_counter};
pub use cpu_time::{CpuTime, cpu_of, cpu_of_children, own_cpu, peak_memory_bytes};
pub use facts::cloud::instance_type;
pub use facts::facts;
pub use file_system::{Room, file_system, room};
pub use host::{host, machine};
pub use page_cache::drop_page_cache;
pub use process::{ProcessId, host_name, still_runs, this_process};
pub use processors::{Processors, Share, processors};
pub use profile::{Profiler, Sampled, Taken, family_of, try_out};
pub use program::{build_of, build_of_file};
pub use tree::Tree;
pub use withheld::{Limits, Withheld, limits_of, limits_of_children, withheld};
