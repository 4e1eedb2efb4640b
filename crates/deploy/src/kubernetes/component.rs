//! The database systems that can be deployed, and their components.

/// What a contender is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A TiDB cluster, by TiDB Operator.
    Tidb,
    /// One MySQL server.
    Mysql,
    /// One PostgreSQL server.
    Postgres,
}

/// A part of a database system, on machines of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The placement driver.
    Pd,
    /// The row store.
    Tikv,
    /// The column store.
    Tiflash,
    /// The SQL server.
    Tidb,
    /// Prometheus and Grafana of a TiDB cluster.
    Monitor,
    /// A MySQL server.
    Mysql,
    /// A PostgreSQL server.
    Postgres,
}

impl Kind {
    /// Their words in a study.
    pub const WORDS: [&'static str; 3] = ["tidb", "mysql", "postgres"];

    /// The kind of that word.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Tidb, Self::Mysql, Self::Postgres].into_iter().find(|kind| kind.word() == word)
    }

    /// Its word in a study.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tidb => "tidb",
            Self::Mysql => "mysql",
            Self::Postgres => "postgres",
        }
    }

    /// Its name in texts.
    pub fn label(self) -> &'static str {
        match self {
            Self::Tidb => "TiDB",
            Self::Mysql => "MySQL",
            Self::Postgres => "PostgreSQL",
        }
    }

    /// Whether an operator keeps it.
    pub fn has_operator(self) -> bool {
        self == Self::Tidb
    }

    /// Whether its servers save backups in a storage themselves.
    pub fn backs_up(self) -> bool {
        self == Self::Tidb
    }

    /// All its components, in the order in which they start.
    pub fn components(self) -> &'static [Component] {
        match self {
            Self::Tidb => &[Component::Pd, Component::Tikv, Component::Tiflash, Component::Tidb, Component::Monitor],
            Self::Mysql => &[Component::Mysql],
            Self::Postgres => &[Component::Postgres],
        }
    }

    /// Those that it cannot be without.
    pub fn needs(self) -> &'static [Component] {
        match self {
            Self::Tidb => &[Component::Pd, Component::Tikv, Component::Tidb],
            other => other.components(),
        }
    }

    /// The roles of its components.
    pub fn roles(self) -> impl Iterator<Item = &'static str> {
        self.components().iter().map(|component| component.role())
    }

    /// The component that runs on nodes of a role.
    pub fn component(self, role: &str) -> Option<Component> {
        self.components().iter().copied().find(|component| component.role() == role)
    }

    /// The target of its servers at these addresses, as a study writes it.
    pub fn target(self, hosts: &str) -> String {
        match self {
            Self::Tidb => format!("tidb://root@{hosts}/test"),
            Self::Mysql => format!("mysql://root@{hosts}/perbuck"),
            Self::Postgres => format!("postgres://postgres@{hosts}/perbuck"),
        }
    }

    /// The secret of its administrator's password, with its key; TiDB's root begins without one.
    pub fn password_secret(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Tidb => None,
            Self::Mysql => Some(("mysql-root", "password")),
            Self::Postgres => Some(("postgres-root", "password")),
        }
    }

    /// The component that clients connect to.
    pub fn entrance(self) -> Component {
        match self {
            Self::Tidb => Component::Tidb,
            Self::Mysql => Component::Mysql,
            Self::Postgres => Component::Postgres,
        }
    }
}

impl Component {
    /// The role of its nodes in a study, and its name in labels.
    pub fn role(self) -> &'static str {
        match self {
            Self::Pd => "pd",
            Self::Tikv => "tikv",
            Self::Tiflash => "tiflash",
            Self::Tidb => "tidb",
            Self::Monitor => "monitor",
            Self::Mysql => "mysql",
            Self::Postgres => "postgres",
        }
    }

    /// Whether it keeps data on a volume of its own.
    pub fn keeps_data(self) -> bool {
        self != Self::Tidb
    }

    /// Whether a system has just one of it.
    pub fn is_single(self) -> bool {
        matches!(self, Self::Monitor | Self::Mysql | Self::Postgres)
    }

    /// The port that clients connect to, where they do.
    pub fn port(self) -> u16 {
        match self {
            Self::Pd => 2379,
            Self::Tikv => 20160,
            Self::Tiflash => 3930,
            Self::Tidb => 4000,
            Self::Monitor => 9090,
            Self::Mysql => 3306,
            Self::Postgres => 5432,
        }
    }
}
