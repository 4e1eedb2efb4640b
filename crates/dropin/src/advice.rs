//! The way out of an error of a server, in the words of a command.

use perbuck_lab::error::LabError;
use perbuck_load::error::{Cause, DriverError, ErrorClass, ErrorCode};

/// What the users of a command can do, by cause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Advice {
    /// The server does not let us in.
    pub(crate) password: &'static str,
    /// There is no such database.
    pub(crate) database: &'static str,
    /// There is no such table.
    pub(crate) tables: &'static str,
    /// It takes no more connections.
    pub(crate) connections: &'static str,
    /// An error of a single transaction ended the run.
    pub(crate) errors: &'static str,
    /// It cannot be reached.
    pub(crate) reach: &'static str,
}

impl Advice {
    /// What a user can do about a cause that the study commands have other words for.
    fn of_cause(&self, cause: Option<Cause>) -> Option<&'static str> {
        match cause? {
            Cause::Password => Some(self.password),
            Cause::NoDatabase => Some(self.database),
            Cause::NoTable => Some(self.tables),
            Cause::Connections => Some(self.connections),
            Cause::Unreachable | Cause::Tls => Some(self.reach),
            _ => None,
        }
    }

    /// What a user can do about an answer; empty where nothing is known.
    pub(crate) fn of(&self, answer: &DriverError) -> &'static str {
        self.of_cause(answer.cause).unwrap_or(match (answer.class, answer.code) {
            // They say themselves what to write.
            (
                _,
                ErrorCode::Word("client", "family" | "isolation" | "unverified" | "library" | "setting" | "lua" | "lua ended"),
            ) => "",
            (_, ErrorCode::Word("client", _)) => self.reach,
            (ErrorClass::Retry, _) => self.errors,
            _ if answer.cause == Some(Cause::DuplicateKey) => self.errors,
            _ => "",
        })
    }

    /// The way out of a failure of the library; its words are those of the study commands, whose passwords and tables come
    /// otherwise.
    pub(crate) fn of_failure<'a>(&self, failure: &'a LabError) -> &'a str {
        self.of_cause(failure.cause()).unwrap_or(failure.words().1)
    }
}

/// An answer with its number.
pub(crate) fn answer_text(answer: &DriverError) -> String {
    match answer.code {
        ErrorCode::Number("mysql", number) => format!("error {number}: {}", answer.message),
        // That of a script says where it was.
        ErrorCode::Word("client", "lua" | "lua ended") => answer.message.clone(),
        _ => answer.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_is_chosen_by_cause_and_never_by_words() {
        let advice = Advice { password: "p", database: "d", tables: "t", connections: "c", errors: "e", reach: "r" };
        let fatal = |code, cause| DriverError::new(ErrorClass::Fatal, code, "password target prepare").because(cause);
        let number = ErrorCode::Number("mysql", 1);
        for (cause, expected) in [
            (Some(Cause::Password), "p"),
            (Some(Cause::NoDatabase), "d"),
            (Some(Cause::NoTable), "t"),
            (Some(Cause::Connections), "c"),
            (Some(Cause::DuplicateKey), "e"),
            (Some(Cause::Tls), "r"),
            (Some(Cause::DiskFull), ""),
            (None, ""),
        ] {
            assert_eq!(advice.of(&fatal(number, cause)), expected, "{cause:?}");
        }
        let client = |word| DriverError::client(ErrorClass::Fatal, word, "");
        assert_eq!(
            ["auth", "tls", "protocol", "family", "library"].map(|word| advice.of(&client(word))),
            ["p", "r", "r", "", ""]
        );
        assert_eq!(advice.of(&fatal(ErrorCode::Word("product", "io"), Some(Cause::File))), "", "no server is to be reached");
        assert_eq!(advice.of(&fatal(number, None).with_class(ErrorClass::Retry)), "e");
        // A way out of the library without a cause is left as it is.
        let target = LabError::target("a, b", &client("unreachable"));
        assert_eq!(advice.of_failure(&target), "r");
        assert_eq!(advice.of_failure(&target.or_help("unused")), "r");
        let other = LabError::new(perbuck_lab::ErrorKind::Usage, "", "leave it out, or use another target");
        assert_eq!(advice.of_failure(&other), "leave it out, or use another target");
        assert_eq!(answer_text(&fatal(number, None)), "error 1: password target prepare");
    }
}
