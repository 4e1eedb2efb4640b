//! The numbers of the protocol: commands, capabilities, flags, types.

/// Commands ("Text Protocol", "Prepared Statements").
pub(crate) mod command {
    pub(crate) const QUIT: u8 = 0x01;
    pub(crate) const QUERY: u8 = 0x03;
    pub(crate) const STMT_PREPARE: u8 = 0x16;
    pub(crate) const STMT_EXECUTE: u8 = 0x17;
    pub(crate) const STMT_CLOSE: u8 = 0x19;
}

/// Capability flags ("Capabilities Flags"). Not among them: COMPRESS. FOUND_ROWS is asked for only where the workload wants it;
/// otherwise an update that changes nothing counts as none, as in sysbench. LOCAL_FILES is for the loader's own rows: no file that
/// a server asks for is ever opened.
pub(crate) mod capability {
    pub(crate) const LONG_PASSWORD: u32 = 1;
    pub(crate) const FOUND_ROWS: u32 = 1 << 1;
    pub(crate) const LONG_FLAG: u32 = 1 << 2;
    pub(crate) const CONNECT_WITH_DB: u32 = 1 << 3;
    pub(crate) const LOCAL_FILES: u32 = 1 << 7;
    pub(crate) const PROTOCOL_41: u32 = 1 << 9;
    pub(crate) const SSL: u32 = 1 << 11;
    pub(crate) const TRANSACTIONS: u32 = 1 << 13;
    pub(crate) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(crate) const MULTI_RESULTS: u32 = 1 << 17;
    pub(crate) const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub(crate) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(crate) const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
    pub(crate) const DEPRECATE_EOF: u32 = 1 << 24;
}

/// Status flags ("SERVER_STATUS_flags_enum").
pub(crate) mod status {
    pub(crate) const IN_TRANSACTION: u16 = 1;
    pub(crate) const AUTOCOMMIT: u16 = 1 << 1;
    pub(crate) const MORE_RESULTS: u16 = 1 << 3;
    pub(crate) const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
}

/// Types of columns and parameters ("enum_field_types").
pub(crate) mod kind {
    pub(crate) const TINY: u8 = 1;
    pub(crate) const SHORT: u8 = 2;
    pub(crate) const LONG: u8 = 3;
    pub(crate) const FLOAT: u8 = 4;
    pub(crate) const DOUBLE: u8 = 5;
    pub(crate) const NULL: u8 = 6;
    pub(crate) const TIMESTAMP: u8 = 7;
    pub(crate) const LONGLONG: u8 = 8;
    pub(crate) const INT24: u8 = 9;
    pub(crate) const DATE: u8 = 10;
    pub(crate) const TIME: u8 = 11;
    pub(crate) const DATETIME: u8 = 12;
    pub(crate) const YEAR: u8 = 13;
    pub(crate) const NEWDECIMAL: u8 = 0xf6;
    pub(crate) const VAR_STRING: u8 = 0xfd;
}
