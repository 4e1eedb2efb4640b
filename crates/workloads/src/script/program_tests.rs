use proptest::prelude::*;

use super::*;

fn faults(text: &str, prepared: bool) -> Vec<String> {
    let read = Program::read(text, &mut Names::default(), prepared);
    read.err().unwrap_or_default().into_iter().map(|fault| format!("{}: {}", fault.line, fault.message)).collect()
}

#[test]
fn conditions_become_jumps() {
    let text = "\\if 1\nA;\n\\elif 0\nB;\n\\else\nC;\n\\endif\nD;\n";
    let program = Program::read(text, &mut Names::default(), true).unwrap();
    let shown: Vec<String> = program
        .steps
        .iter()
        .map(|placed| match &placed.step {
            Step::Unless(_, to) => format!("unless {to}"),
            Step::Go(to) => format!("go {to}"),
            Step::Sql(..) => format!("sql {}", placed.command),
            _ => String::new(),
        })
        .collect();
    assert_eq!(shown, ["unless 3", "sql 2", "go 7", "unless 6", "sql 4", "go 7", "sql 6", "sql 8"]);
}

#[test]
fn faults_are_told_with_their_lines() {
    for (text, expected) in [
        ("", "1: empty command list for script"),
        ("\n\\set i 1 +", "2: syntax error in command \"set\": the expression ends too early"),
        ("\\set", "1: missing argument in command \"set\""),
        ("\\set . 1", "1: invalid variable name: \".\""),
        ("\\set i noSuch()", "1: syntax error in command \"set\": unexpected function name \"noSuch\""),
        ("\\nosuchcommand", "1: invalid command in command \"nosuchcommand\""),
        ("\\gset", "1: \\gset must follow an SQL command"),
        ("\\set i +1\n\\gset", "2: \\gset must follow an SQL command"),
        ("SELECT 1 AS i \\gset\n\\gset", "2: \\gset must follow an SQL command"),
        ("SELECT 1 \\gset a b", "1: too many arguments in command \"gset\""),
        ("\\sleep", "1: missing argument in command \"sleep\" (\\sleep NUMBER UNIT)"),
        ("\\sleep 1 week", "1: unrecognized time unit \"week\" in command \"sleep\""),
        ("\\sleep too many args", "1: too many arguments in command \"sleep\""),
        ("\\setshell a b", "1: perbuck starts no program from a script, so there is no \\setshell"),
        ("\\startpipeline now", "1: unexpected argument in command \"startpipeline\""),
        ("\\endpipelines", "1: invalid command in command \"endpipelines\""),
        ("\\if 1\nSELECT 1;", "1: \\if without matching \\endif"),
        ("SELECT 1;\n\\endif", "2: \\endif without matching \\if"),
        ("\\if 1\n\\else\n\\else\n\\endif", "3: \\else after \\else"),
        ("SELECT a ? b;", "1: a `?` in a statement with parameters would be one"),
        ("SELECT 1 \\; SELECT 2;", "1: statements that `\\;` joins cannot have parameters"),
    ] {
        assert_eq!(faults(text, true)[..], [expected.to_owned()], "{text}");
    }
    let many = format!("SELECT LEAST({});", vec![":i"; 256].join(", "));
    assert!(faults(&many, true)[0].contains("statement has too many arguments (maximum is 255)"));
    assert_eq!(faults("SELECT 1 \\; SELECT 2; SELECT a ? b;", false), Vec::<String>::new());
    assert_eq!(
        faults("\\sleep 2ms\n\\sleep :a us\n\\sleep 1\nSELECT 1 \\gset x_\nSELECT 1 \\; SELECT 2 \\aset", false),
        Vec::<String>::new()
    );
}

#[test]
fn all_faults_come_at_once() {
    assert_eq!(faults("\\set a 1 +\nSELECT 1;\n\\foo\n\\if 1\n", true).len(), 3);
}

proptest! {
    #[test]
    fn any_script_is_read_or_refused(lines in prop::collection::vec(
        prop::sample::select(vec![
            "\\if 1", "\\elif :a", "\\else", "\\endif", "\\set a random(1, 2)", "SELECT :a \\gset", "BEGIN;", "END;", "\\sleep 1 us",
            "SELECT 1 \\; SELECT 2 \\aset p_", "\\startpipeline", "\\syncpipeline", "\\endpipeline", "\\\\", "\\", "$$", "'", "\"",
        ]), 0..30)) {
        let read = Program::read(&lines.join("\n"), &mut Names::default(), false);
        if let Ok(program) = read {
            for placed in &program.steps {
                if let Step::Go(to) | Step::Unless(_, to) = placed.step {
                    prop_assert!(to > 0 && to <= program.steps.len());
                }
            }
        }
    }
}
