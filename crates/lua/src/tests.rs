//! Scripts on an SQLite file in memory of the test: what the API does without a server.

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use perbuck_core::units::Seed;

use crate::draws::Draws;
use crate::state::{State, Thread};
use crate::*;

/// A script with this text, and what it prints.
fn script(text: &str) -> (LuaScript, Arc<Mutex<String>>) {
    let printed = Arc::new(Mutex::new(String::new()));
    let keep = |printed: &Arc<Mutex<String>>| {
        let printed = Arc::clone(printed);
        move |text: &[u8]| printed.lock().unwrap().push_str(&String::from_utf8_lossy(text))
    };
    let mut script = LuaScript::of_file("/of/a/test.lua".into(), "test.lua".to_owned(), text.as_bytes().to_vec());
    script.command = Some("run".to_owned());
    script.console = Console::new(keep(&printed), keep(&printed));
    (script, printed)
}

/// What the text prints when it is loaded.
fn printed(text: &str) -> String {
    let (script, printed) = script(text);
    State::new(
        &Arc::new(script.clone()),
        "mysql",
        Thread { number: Some(3), of: 4 },
        Draws::new(script.random.clone(), Seed(1), (0, 1)),
    )
    .map_err(|e| panic!("{e}"))
    .ok();
    printed.lock().unwrap().clone()
}

fn refused(text: &str) -> String {
    let (script, _) = script(text);
    State::alone(&script, "mysql").err().unwrap()
}

#[test]
fn a_script_finds_what_sysbench_gives() {
    assert_eq!(printed("print(sysbench.version, sysbench.tid, sysbench.cmdline.command, db_driver)"), "1.0.20\t3\trun\tmysql\n");
    assert_eq!(printed("print(sysbench.sql.driver():name(), sysbench.sql.type.VARCHAR)"), "mysql\t12\n");
    assert_eq!(printed("print(sysbench.cmdline.script_path, type(ffi.C.usleep))"), "/of/a/test.lua\tfunction\n");
    assert_eq!(
        printed("print(pcall(sysbench.sql.driver, 'other'))"),
        "FATAL: invalid database driver name: 'other'false\tfailed to initialize the DB driver\n"
    );
    let declared = "ffi.cdef('void sb_counter_inc(int, sb_counter_type);') ffi.C.sb_counter_inc(0, ffi.C.SB_CNT_ERROR)";
    assert_eq!(printed(&format!("{declared} print(tonumber(ffi.C.SB_CNT_ERROR))")), "4\n");
    for law in ["default", "uniform", "gaussian", "special", "pareto", "zipfian", "unique"] {
        assert_eq!(
            printed(&format!("for _ = 1, 99 do local n = sysbench.rand.{law}(3, 5) assert(n >= 3 and n <= 5) end print(1)")),
            "1\n"
        );
    }
    assert_eq!(printed("print(#sysbench.rand.string('##-@@'), sysbench.rand.string('abc'))"), "5\tabc\n");
    assert_eq!(printed("print(type(sysbench.rand.uniform_uint64()), #sysbench.rand.varstring(4, 4))"), "cdata\t4\n");
}

#[test]
fn errors_of_a_script_have_their_line() {
    assert_eq!(refused("\nfoo\n"), "/of/a/test.lua:3: '=' expected near '<eof>'");
    assert!(refused("\nlocal x = nothing.field").contains("/of/a/test.lua:2: attempt to index global 'nothing'"));
    assert!(
        refused("sysbench.sql.driver():connect()").contains("outside of any thread"),
        "{}",
        refused("sysbench.sql.driver():connect()")
    );
}

#[test]
fn options_and_commands_are_read() {
    let text = "sysbench.cmdline.options = { b = {'Help of b', true}, a = {'Help of a'}, n = {'N', 1e6}, l = {'L', {'x', 'y'}}, \
                s = {'S', '7', sysbench.cmdline.ARG_INT} }\n\
                sysbench.cmdline.commands = { go = {print, sysbench.cmdline.PARALLEL_COMMAND}, come = {print} }\nfunction event() end";
    let (script, _) = script(text);
    let described = describe(&script, "mysql").unwrap();
    let options = described.options.unwrap();
    let of = |name: &str| options.iter().find(|o| o.name == name).unwrap().default.clone();
    assert_eq!((of("b"), of("a")), (ScriptValue::Switch(true), ScriptValue::Text(None)));
    assert_eq!((of("n"), of("s")), (ScriptValue::Number("1000000".into()), ScriptValue::Number("7".into())));
    assert_eq!(of("l"), ScriptValue::List("x,y".into()));
    assert_eq!(described.commands, [("come".to_owned(), false), ("go".to_owned(), true)]);
    assert!(described.has_event && described.functions.is_empty());
}

#[test]
fn histograms_are_drawn_as_by_sysbench() {
    let text =
        "h = sysbench.histogram.new(1000, 1, 10) for _, v in ipairs { 1, 2, 0, 10, 100, 5.001 } do h:update(v) end h:print()";
    let wanted = [
        "       value  ------------- distribution ------------- count",
        "       1.000 |**************************************** 2",
        "       2.001 |********************                     1",
        "       4.997 |********************                     1",
        "      10.000 |**************************************** 2",
    ];
    assert_eq!(printed(text).lines().collect::<Vec<_>>(), wanted);
}

#[test]
fn hooks_get_the_numbers_of_a_report() {
    let text = "sysbench.opt.percentile = 95 sysbench.hooks.report_intermediate = sysbench.report_csv \
                sysbench.hooks.report_cumulative = sysbench.report_default";
    let (script, printed) = script(text);
    let main = MainState::new(&script, "mysql").unwrap();
    let report = Report {
        interval_s: 2.0,
        total_s: 4.0,
        threads: 3,
        events: 10,
        queries: [20, 4, 2],
        latency_s: 0.0123,
        errors: 1,
        reconnects: 0,
    };
    assert!(main.report("report_intermediate", &report).unwrap() && main.report("report_cumulative", &report).unwrap());
    assert!(!main.report("no_such_hook", &report).unwrap());
    let lines = "4,3,5.00,13.00,10.00,2.00,1.00,12.30,0.50,0.00\n\
                 [ 4s ] thds: 3 tps: 5.00 qps: 13.00 (r/w/o: 10.00/2.00/1.00) lat (ms,95%): 12.30 err/s 0.50 reconn/s: 0.00\n";
    assert_eq!(*printed.lock().unwrap(), lines);
}

#[test]
fn a_text_that_never_reads_rows_keeps_none() {
    let keeps = |text: &str| {
        let (script, _) = script(text);
        State::alone(&script, "mysql").map_err(|e| panic!("{e}")).ok().unwrap().reads_rows()
    };
    assert!(!keeps("function event() stmt:execute() end"));
    assert!(keeps("function event() stmt:execute():fetch_row() end") && keeps("loadstring('x')"));
}

/// Terminals of one thread that share a state where the script allows it, each with what its text leaves in `x`.
fn terminals(text: &str) -> (bool, Vec<State>) {
    let (mut script, _) = script(text);
    script.shares = describe(&script, "mysql").unwrap().shares;
    let script = Arc::new(script);
    let draws = || Draws::new(script.random.clone(), Seed(1), (0, 1));
    (
        script.shares,
        (0..3).map(|thread| State::new(&script, "mysql", Thread { number: Some(thread), of: 3 }, draws()).unwrap()).collect(),
    )
}

#[test]
fn terminals_that_share_a_state_have_variables_of_their_own() {
    let text = "x = sysbench.tid local mine = sysbench.tid string.mine, table.mine = nil \
                sysbench.opt.of, sysbench.rand.of, sysbench.hooks.of = mine, mine, mine \
                function get() return x, mine, _G.x, sysbench.opt.of, sysbench.rand.of, sysbench.hooks.of, table.of, loadstring('return x')() end \
                function set() x, mine, table.of = x + 10, mine + 10, x end";
    let (shares, states) = terminals(&text.replace("string.mine, table.mine = nil", ""));
    assert!(shares && Rc::ptr_eq(&states[0].shared, &states[2].shared));
    let call = |at: usize, name: &str| -> Vec<Option<i64>> {
        let function: mlua::Function = states[at].globals.get(name).unwrap();
        function.call::<mlua::Variadic<Option<i64>>>(()).unwrap().to_vec()
    };
    call(1, "set");
    assert_eq!(call(0, "get")[..7], [Some(0), Some(0), Some(0), Some(0), Some(0), Some(0), None]);
    assert_eq!(call(1, "get")[..7], [Some(11), Some(11), Some(11), Some(1), Some(1), Some(1), Some(1)]);
    assert_eq!(call(2, "get")[..7], [Some(2), Some(2), Some(2), Some(2), Some(2), Some(2), None]);
}

#[test]
fn a_text_that_reaches_beyond_its_variables_shares_nothing() {
    for text in [
        "ffi.cdef('int getpid(void);')",
        "function string.twice(s) return s .. s end",
        "string.twice = function(s) return s .. s end",
        "getmetatable(string.rep(1, 1)).__index = nil",
        "getfenv(0).y = 1",
        "package.loaded.x = 1",
        "debug.sethook()",
        "local t = coroutine.wrap(function() end)",
    ] {
        let (shares, states) = terminals(&format!("x = 1 {text}"));
        assert!(!shares && !Rc::ptr_eq(&states[0].shared, &states[1].shared), "{text}");
    }
    assert!(terminals("x = string.format('%d', 1) == '1' and string.rep == string.rep").0);
}
