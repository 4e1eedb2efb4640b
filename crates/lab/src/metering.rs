//! The servers' own metrics during a trial. A thread of its own reads them once a second, so that a server that does not answer holds
//! up nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use perbuck_core::run_record::{CounterSeries, SERIES_SCHEMA, Series, ServerMetrics, ServerSeries, Values};
use perbuck_load::driver::Driver;
use perbuck_load::loader::on_loop;
use perbuck_load::meter::{Meter, Reading};
use perbuck_load::watch::within;

use crate::sidecar;
use crate::steps::{FIRST, Steps, growth};

/// How long opening the connections, or one reading, may take.
const LIMIT: Duration = Duration::from_secs(5);
/// How far readings are apart.
const SECOND: Duration = Duration::from_secs(1);
/// Series of one family that are kept, those that grew most. Servers have hundreds of waits, and most of them do not matter.
const MOST_OF_A_FAMILY: usize = 64;
/// What is said where all of it is not told.
const ALL: &str = "metrics";

enum Order {
    /// The window opened at this time: read now, and then in each step.
    Open(Instant),
    /// The window closed: read a last time.
    Close,
}

/// A thread that reads the servers' metrics during one trial.
#[derive(Debug)]
pub struct Metering {
    orders: Sender<Order>,
    thread: Option<JoinHandle<Seen>>,
}

/// What was read.
#[derive(Debug)]
struct Seen {
    steps: Steps<Reading>,
    not_told: BTreeMap<String, String>,
}

/// What a record holds of it, and the file of series that belongs beside the record.
pub(crate) type Metered = (ServerMetrics, Option<String>);

impl Metering {
    /// Starts the thread, which opens its connections before this returns. What cannot be read is told with the results.
    pub(crate) fn start<D: Driver>(driver: Arc<D>, connections: u32) -> Self {
        let (orders, received) = channel();
        let (is_open, opened) = channel();
        let work = move || {
            let mut seen = Seen { steps: Steps::new(), not_told: BTreeMap::new() };
            let read = on_loop(async {
                seen.read(&*driver, connections, &is_open, &received).await;
                Ok(())
            });
            if let Err(error) = read {
                seen.not_told.insert(ALL.to_owned(), error.to_string());
            }
            seen
        };
        let thread = Builder::new().name("server-metrics".to_owned()).spawn(work).ok();
        // The thread drops its end when it has failed.
        if thread.is_some() {
            let _ = opened.recv_timeout(LIMIT);
        }
        Self { orders, thread }
    }

    /// The window opens.
    pub(crate) fn open(&self) {
        self.order(Order::Open(Instant::now()));
    }

    /// The window closes.
    pub(crate) fn close(&self) {
        self.order(Order::Close);
    }

    /// A thread that has ended by itself says why with the results.
    fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }

    /// Ends the thread, whose connections are then closed. `None` where the servers have no metrics.
    pub(crate) fn finish(self) -> Option<Metered> {
        let Self { orders, thread } = self;
        drop(orders);
        let untold = |why: &str| {
            let not_told = [(ALL.to_owned(), why.to_owned())].into();
            Some((ServerMetrics { not_told, ..ServerMetrics::default() }, None))
        };
        let Some(thread) = thread else { return untold("the system gave no thread for reading them") };
        thread.join().map_or_else(|_| untold("the thread that reads them failed"), Seen::record)
    }
}

impl Seen {
    /// Reads as it is ordered until the orders end.
    async fn read<D: Driver>(&mut self, driver: &D, connections: u32, is_open: &Sender<()>, orders: &Receiver<Order>) {
        let opened = within(LIMIT, driver.meter(connections)).await;
        // Whether anybody still waits for it is the same to this thread.
        let _ = is_open.send(());
        let mut meter = match opened {
            Some(Ok(Some(meter))) => meter,
            Some(Ok(None)) => return,
            Some(Err(error)) => return self.end(&error.message),
            None => return self.end(&format!("no connection for them was open within {} s", LIMIT.as_secs())),
        };
        self.not_told.extend(meter.not_told());
        match self.follow(&mut *meter, orders).await {
            Ok(()) => drop(within(LIMIT, meter.close()).await),
            Err(why) => self.end(&why),
        }
    }

    fn end(&mut self, why: &str) {
        self.not_told.insert(ALL.to_owned(), why.to_owned());
    }

    async fn follow(&mut self, meter: &mut dyn Meter, orders: &Receiver<Order>) -> Result<(), String> {
        let mut opened: Option<Instant> = None;
        loop {
            // Nothing else runs on this loop, so its thread may wait.
            let order = match opened {
                None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => orders.recv_timeout(until_next(at.elapsed(), self.steps.step())),
            };
            match (order, opened) {
                (Ok(Order::Open(at)), _) => {
                    opened = Some(at);
                    self.steps = Steps::new();
                    self.take(meter, at).await?;
                }
                (Ok(Order::Close), Some(at)) => {
                    opened = None;
                    self.take(meter, at).await?;
                }
                (Err(RecvTimeoutError::Timeout), Some(at)) => self.take(meter, at).await?,
                (Err(RecvTimeoutError::Disconnected), _) => return Ok(()),
                (Ok(Order::Close) | Err(RecvTimeoutError::Timeout), None) => {}
            }
        }
    }

    /// One reading. One that takes longer than a step leaves out the steps that it takes.
    async fn take(&mut self, meter: &mut dyn Meter, opened: Instant) -> Result<(), String> {
        let at = |since: Duration| format!("{:.1} s after the window opened", since.as_secs_f64());
        match within(LIMIT, meter.read()).await {
            Some(Ok(reading)) => {
                self.steps.add(opened.elapsed(), reading);
                Ok(())
            }
            Some(Err(error)) => Err(format!("they end {}: {}", at(opened.elapsed()), error.message)),
            None => Err(format!("they end {}: no answer came within {} s", at(opened.elapsed()), LIMIT.as_secs())),
        }
    }

    fn record(self) -> Option<Metered> {
        let told = |series: &ServerSeries| !series.counters.is_empty() || !series.gauges.is_empty();
        let Some(series) = self.series().filter(told) else {
            let metrics = ServerMetrics { not_told: self.not_told, ..ServerMetrics::default() };
            return (metrics != ServerMetrics::default()).then_some((metrics, None));
        };
        let mut metrics = ServerMetrics {
            from_ms: series.from_ms,
            to_ms: series.steps_ms.last().copied().unwrap_or(series.from_ms),
            growth: series.growth(),
            means: series.means(),
            not_told: self.not_told,
            series_sha256: None,
        };
        match series.to_json() {
            Ok(text) => {
                metrics.series_sha256 = Some(sidecar::digest(&text));
                Some((metrics, Some(text)))
            }
            Err(why) => {
                metrics.not_told.insert(ALL.to_owned(), why);
                Some((metrics, None))
            }
        }
    }

    /// What was read at least twice.
    fn series(&self) -> Option<ServerSeries> {
        let mut times = self.steps.times_ms();
        let (from_ms, steps_ms) = (times.next()?, times.collect::<Vec<_>>());
        let last = self.steps.readings().next_back().filter(|_| !steps_ms.is_empty())?;
        let counters = last.counters.keys().filter_map(|name| {
            // One that was not there before was zero. Fewer than before is no growth: the server was started again.
            let all: Vec<f64> = self.steps.readings().map(|r| r.counters.get(name).copied().unwrap_or(0.0)).collect();
            let values = Values(growth(&all).filter(|_| all.iter().all(|v| v.is_finite()))?);
            (!values.is_empty()).then(|| CounterSeries { name: name.clone(), first: all[0], values })
        });
        let mut names: Vec<&String> = self.steps.readings().skip(1).flat_map(|r| r.gauges.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let gauges = names.into_iter().map(|name| {
            let all = self.steps.readings().skip(1).map(|r| r.gauges.get(name).copied().filter(|v| v.is_finite()));
            Series { name: name.clone(), values: Values(all.map(Option::unwrap_or_default).collect()) }
        });
        let grown = |c: &CounterSeries| c.values.0.iter().sum();
        Some(ServerSeries {
            schema: SERIES_SCHEMA,
            from_ms,
            steps_ms,
            counters: most(counters.collect(), |c| &c.name, grown),
            gauges: most(gauges.filter(|g| !g.values.is_empty()).collect(), |g| &g.name, Series::sum),
        })
    }
}

/// How long it is until the next whole second after the opening, or until the second that ends the next longer step.
fn until_next(since_opening: Duration, step: Duration) -> Duration {
    let period = SECOND * (step.as_millis() / FIRST.as_millis()).max(1) as u32;
    let passed = since_opening.as_nanos() / period.as_nanos();
    (period * (passed as u32 + 1)).saturating_sub(since_opening)
}

/// Of each family at most [`MOST_OF_A_FAMILY`], in the order of their names.
fn most<T>(mut all: Vec<T>, name: impl Fn(&T) -> &str, size: impl Fn(&T) -> f64) -> Vec<T> {
    all.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| name(a).cmp(name(b))));
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    all.retain(|one| {
        let count = kept.entry(name(one).split('{').next().unwrap_or_default().to_owned()).or_default();
        *count += 1;
        *count <= MOST_OF_A_FAMILY
    });
    all.sort_by(|a, b| name(a).cmp(name(b)));
    all
}

#[cfg(test)]
mod tests {
    use perbuck_load::error::{DriverError, ErrorClass};
    use perbuck_load::loader::LoadError;
    use perbuck_load::meter::Later;

    use super::*;

    /// Counts its readings, and is lost at one of them.
    struct Counting {
        readings: u32,
        lost_at: u32,
    }

    impl Meter for Counting {
        fn read(&mut self) -> Later<'_, Result<Reading, DriverError>> {
            self.readings += 1;
            let n = f64::from(self.readings);
            let lost = self.readings == self.lost_at;
            Box::pin(async move {
                if lost {
                    return Err(DriverError::client(ErrorClass::Lost, "closed", "the server went away"));
                }
                let counters = [("c_total".to_owned(), 10.0 + n), ("still".to_owned(), 7.0), ("back".to_owned(), 9.0 - n)];
                Ok(Reading { counters: counters.into(), gauges: [("g".to_owned(), n)].into() })
            })
        }

        fn close(self: Box<Self>) -> Later<'static, ()> {
            Box::pin(std::future::ready(()))
        }
    }

    /// Opens a window, closes it, and ends.
    fn seen(lost_at: u32) -> Seen {
        let (orders, received) = channel();
        orders.send(Order::Open(Instant::now())).unwrap();
        orders.send(Order::Close).unwrap();
        drop(orders);
        let mut seen = Seen { steps: Steps::new(), not_told: BTreeMap::new() };
        on_loop(async {
            let mut meter = Counting { readings: 0, lost_at };
            if let Err(why) = seen.follow(&mut meter, &received).await {
                seen.end(&why);
            }
            Ok::<_, LoadError>(())
        })
        .unwrap();
        seen
    }

    #[test]
    fn the_growth_of_a_window_is_what_the_last_reading_has_more_than_the_first() {
        let (metrics, text) = seen(0).record().unwrap();
        assert_eq!(metrics.growth, [("c_total".to_owned(), 1.0)].into());
        assert_eq!(metrics.means, [("g".to_owned(), 2.0)].into());
        assert!(metrics.not_told.is_empty());
        let text = text.unwrap();
        assert_eq!(metrics.series_sha256, Some(sidecar::digest(&text)));
        let series = ServerSeries::from_json(&text).unwrap();
        assert_eq!(series.counters, [CounterSeries { name: "c_total".into(), first: 11.0, values: Values(vec![1.0]) }]);
        assert_eq!((series.growth(), series.means()), (metrics.growth, metrics.means));
    }

    #[test]
    fn readings_are_at_whole_seconds_and_none_is_made_up_for() {
        let next = |ms, steps| until_next(Duration::from_millis(ms), FIRST * steps).as_millis();
        assert_eq!([next(3, 1), next(1000, 1), next(3999, 1), next(3999, 2), next(4001, 4)], [997, 1000, 1, 1, 3999]);
    }

    #[test]
    fn what_ends_a_reading_is_told_and_ends_no_trial() {
        let (metrics, text) = seen(2).record().unwrap();
        assert!(text.is_none() && metrics.growth.is_empty() && metrics.series_sha256.is_none());
        let why = &metrics.not_told["metrics"];
        assert!(why.starts_with("they end 0.0 s after") && why.ends_with("the server went away"), "{why}");
    }

    #[test]
    fn of_a_family_those_that_grew_most_are_kept() {
        let all: Vec<(String, f64)> = (0..100).map(|i| (format!("f{{n=\"{i:03}\"}}"), f64::from(i))).collect();
        let kept = most([all, vec![("other".to_owned(), 0.5)]].concat(), |one| &one.0, |one| one.1);
        assert_eq!((kept.len(), kept[0].1, &*kept[64].0), (65, 36.0, "other"));
    }
}
