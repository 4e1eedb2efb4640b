//! Several processes apply the load of one trial; here they are threads, and what they say goes through text as it does between machines.

use super::*;
use crate::recorder::Second;

/// An agent that runs in this process, with its own engine.
struct Near {
    spec: TrialSpec,
    driver: SimDriver,
}

/// Its coordinator.
struct Far<'a>(&'a Signals, u32);

impl Coordinator for Far<'_> {
    fn ready(&mut self) {
        self.0.ready();
    }

    fn opens_at(&mut self) -> Option<i64> {
        self.0.opens_at().flatten()
    }

    fn second(&mut self, second: Second) {
        self.0.second(second);
    }

    fn opens(&mut self) {
        self.1 += 1;
    }

    fn closes(&mut self) {
        self.1 += 1;
    }
}

impl Agent for Near {
    fn apply(self: Box<Self>, signals: &Signals) -> Result<Vec<WorkerOutcome>, RunError> {
        let mut far = Far(signals, 0);
        let (driver, workload) = (Arc::new(self.driver.clone()), TwoSelects::new());
        let outcomes = run_share((&self.spec, false), &driver, &workload, &signals.stop, &mut far)?;
        assert_eq!(far.1, 2, "both edges of the window were seen");
        Ok(outcomes)
    }
}

fn apart(spec: &TrialSpec, of: u32, driver: &SimDriver, stop: &StopToken) -> Result<TrialOutcome, RunError> {
    let near = |number| Near { spec: TrialSpec { share: Share { number, of }, ..spec.clone() }, driver: driver.clone() };
    let agents: Vec<Box<dyn Agent>> = (0..of).map(|number| Box::new(near(number)) as Box<dyn Agent>).collect();
    run_apart(spec, &*TwoSelects::new(), (agents, Duration::from_millis(50)), stop, &mut Unobserved)
}

#[test]
fn the_shares_of_a_trial_add_up_to_it() {
    let spec = TrialSpec { warmup_ns: 50_000_000, duration_ns: 400_000_000, ..spec(10) };
    for of in [1, 3, 7] {
        let outcome = apart(&spec, of, &SimDriver::default(), &StopToken::default()).unwrap();
        assert_eq!(outcome.terminals.len(), 10, "{of} shares");
        let by_terminal: u64 = outcome.terminals.iter().map(|t| t.transactions).sum();
        let completed = transactions(&outcome).completed();
        // How many there are depends on what else runs on the machine.
        assert!(completed > 0 && by_terminal == completed, "{completed} and {by_terminal}");
        assert_eq!(outcome.measured.statements.total(), 2 * completed);
        let h = transactions(&outcome).service.to_histogram().unwrap();
        assert_eq!(h.count(), completed);
        let windowed: u64 = outcome.intervals.iter().filter(|i| i.start_ms >= 0).map(|i| i.transactions).sum();
        assert_eq!(windowed, completed);
        assert!(outcome.health.littles_law.unwrap().holds());
    }
}

#[test]
fn arrivals_of_an_open_loop_are_dealt_and_none_is_lost() {
    let spec = TrialSpec {
        load: LoadModel::rate(500, Arrivals::Poisson, 400_000_000),
        warmup_ns: 0,
        duration_ns: 400_000_000,
        ..spec(9)
    };
    let whole = apart(&spec, 1, &SimDriver::default(), &StopToken::default()).unwrap().measured.open_loop.unwrap();
    let of_three = apart(&spec, 3, &SimDriver::default(), &StopToken::default()).unwrap().measured.open_loop.unwrap();
    assert_eq!(whole.offered, of_three.offered);
    assert_eq!(of_three.started + of_three.backlog_at_close, of_three.offered + of_three.backlog_at_open);
}

#[test]
fn the_first_error_of_a_share_ends_all_and_a_stop_reaches_them() {
    let refused = SimDriver { max_connections: 2, ..SimDriver::default() };
    let ended = apart(&spec(8), 2, &refused, &StopToken::default());
    assert_eq!(ended, Err(RunError::Connect(SimDriver::error(ErrorClass::Refused, 1040))));
    let (stop, began) = (StopToken::default(), Instant::now());
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            stop.request();
        });
        apart(&spec(8), 2, &SimDriver::default(), &stop)
    });
    assert_eq!(ended, Err(RunError::Interrupted));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn what_a_worker_saw_survives_its_way() {
    let spec = TrialSpec { warmup_ns: 0, duration_ns: 200_000_000, time_statements: true, ..spec(2) };
    let (driver, signals) = (Arc::new(SimDriver::default()), Signals::new(&StopToken::default()).0);
    let mut far = Alone(perbuck_event::now().ns() + 20_000_000);
    let outcomes = run_share((&spec, true), &driver, &TwoSelects::new(), &signals.stop, &mut far).unwrap();
    let text = serde_json::to_string(&outcomes).unwrap();
    let back: Vec<WorkerOutcome> = serde_json::from_str(&text).unwrap();
    let whole = |outcomes| finish(&spec, &*TwoSelects::new(), false, outcomes, Seen::default());
    assert_eq!(whole(back), whole(outcomes));
}

/// A coordinator that gives the start at once.
struct Alone(i64);

impl Coordinator for Alone {
    fn ready(&mut self) {}

    fn opens_at(&mut self) -> Option<i64> {
        Some(self.0)
    }

    fn second(&mut self, second: Second) {
        let text = serde_json::to_string(&second).unwrap();
        assert_eq!(serde_json::from_str::<Second>(&text).unwrap(), second);
    }

    fn opens(&mut self) {}

    fn closes(&mut self) {}
}

/// Statements of 1 ms, until a coin shows heads: transactions of 2 ms in the mean, as uneven as those of a database.
struct Uneven(Arc<Catalogue>);

struct UnevenTerminal;

impl Workload for Uneven {
    type Terminal = UnevenTerminal;

    fn catalogue(&self) -> Arc<Catalogue> {
        self.0.clone()
    }

    fn kinds(&self) -> Vec<&str> {
        vec!["uneven"]
    }

    fn terminal(&self, _id: TerminalId) -> UnevenTerminal {
        UnevenTerminal
    }
}

impl Terminal for UnevenTerminal {
    fn kind(&mut self, _operation: &Operation) -> u8 {
        0
    }

    async fn transaction<S: Session>(&mut self, c: &mut Connection<S>, operation: &mut Operation) -> Result<Done, DriverError> {
        loop {
            c.execute(StatementId(0)).await?;
            if operation.rng.below(2) == 0 {
                return Ok(Done::committed(0));
            }
        }
    }
}

/// The response times that docs/fleet.md states: eight connections, transactions of 2 ms, arrivals at 80 % of what they can do.
#[test]
fn several_queues_wait_longer_than_one_and_the_docs_say_how_much() {
    let load = LoadModel::rate(3_200, Arrivals::Poisson, 61_000_000_000);
    let spec = TrialSpec { load, duration_ns: 60_000_000_000, ..spec(8) };
    let mut catalogue = Catalogue::default();
    catalogue.add(Verb::Select, "SELECT 1");
    let workload = Arc::new(Uneven(Arc::new(catalogue)));
    let response = |of: u32| {
        let mut all = perbuck_core::histogram::Histogram::new();
        for number in 0..of {
            let share = TrialSpec { share: Share { number, of }, ..spec.clone() };
            let outcome = simulate_with(&share, SimDriver::default(), &workload, &mut |_| {}).unwrap();
            all.merge(&outcome.measured.transactions["uneven"].response.to_histogram().unwrap());
        }
        [all.mean_ns().unwrap(), all.percentile_ns(95.0).unwrap() as f64, all.percentile_ns(99.0).unwrap() as f64]
            .map(|ns| ns / 1e6)
    };
    let (one, two, four) = (response(1), response(2), response(4));
    let page = include_str!("../../../../../docs/fleet.md");
    for (who, [mean, p95, p99]) in [("one process", one), ("2 agents", two), ("4 agents", four)] {
        let row = format!("| {who} | {mean:.1} | {p95:.1} | {p99:.1} |");
        assert!(page.contains(&row), "docs/fleet.md lacks `{row}`");
    }
    assert!(one[2] < two[2] && two[2] < four[2]);
}
