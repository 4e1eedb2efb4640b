//! Field numbers of the messages of PD and TiKV, by the names of their `.proto` files (github.com/pingcap/kvproto).
//!
//! The driver and the test server share them. So that a wrong number cannot hide between the two, a test compares each with
//! the published definitions (`tests/kvproto.proto`).
//!
//! A module stands for one message, or for several which have the same numbers for these fields.
//!
//! ```
//! use perbuck_grpc::kvproto::kvrpcpb::{get_request, request};
//! use perbuck_grpc::proto::{put_bytes, put_element, put_uint};
//!
//! let mut out = Vec::new();
//! put_element(&mut out, request::CONTEXT, b"");
//! put_bytes(&mut out, get_request::KEY, b"k");
//! put_uint(&mut out, get_request::VERSION, 7);
//! assert_eq!(out, b"\x0a\x00\x12\x01k\x18\x07");
//! ```

macro_rules! packages {
    ($($package:ident { $($module:ident($($message:ident)+) { $($field:ident = $number:literal)+ })+ })+) => {
        $(
            #[doc = concat!("Messages of `", stringify!($package), ".proto`.")]
            pub mod $package {
                $(
                    #[doc = concat!("Fields of" $(, " `", stringify!($message), "`")+, ".")]
                    pub mod $module {
                        $(
                            #[doc = concat!("`", stringify!($field), "`, in small letters.")]
                            pub const $field: u32 = $number;
                        )+
                    }
                )+
            }
        )+

        /// Package, messages, and fields of each module.
        #[cfg(test)]
        const MODULES: &[(&str, &[&str], &[(&str, u32)])] = &[
            $($((stringify!($package), &[$(stringify!($message)),+], &[$((stringify!($field), $number)),+])),+),+
        ];
    };
}

packages! {
    errorpb {
        error(Error) {
            MESSAGE = 1 NOT_LEADER = 2 REGION_NOT_FOUND = 3 KEY_NOT_IN_REGION = 4 EPOCH_NOT_MATCH = 5 SERVER_IS_BUSY = 6
            STALE_COMMAND = 7 STORE_NOT_MATCH = 8 RAFT_ENTRY_TOO_LARGE = 9 DATA_IS_NOT_READY = 13
        }
        not_leader(NotLeader) { REGION_ID = 1 LEADER = 2 }
        region_not_found(RegionNotFound) { REGION_ID = 1 }
        key_not_in_region(KeyNotInRegion) { REGION_ID = 2 }
        epoch_not_match(EpochNotMatch) { CURRENT_REGIONS = 1 }
        server_is_busy(ServerIsBusy) { REASON = 1 }
        store_not_match(StoreNotMatch) { REQUEST_STORE_ID = 1 ACTUAL_STORE_ID = 2 }
    }
    metapb {
        region(Region) { ID = 1 START_KEY = 2 END_KEY = 3 REGION_EPOCH = 4 PEERS = 5 }
        region_epoch(RegionEpoch) { CONF_VER = 1 VERSION = 2 }
        peer(Peer) { ID = 1 STORE_ID = 2 }
        store(Store) { ID = 1 ADDRESS = 2 STATE = 3 VERSION = 5 }
    }
    pdpb {
        request(GetMembersRequest GetRegionRequest GetStoreRequest GetAllStoresRequest TsoRequest) { HEADER = 1 }
        request_header(RequestHeader) { CLUSTER_ID = 1 }
        response(
            GetMembersResponse GetRegionResponse ScanRegionsResponse GetStoreResponse GetAllStoresResponse TsoResponse
            GetGCSafePointResponse UpdateGCSafePointResponse
        ) { HEADER = 1 }
        response_header(ResponseHeader) { CLUSTER_ID = 1 ERROR = 2 }
        error(Error) { TYPE = 1 MESSAGE = 2 }
        tso_request(TsoRequest) { COUNT = 2 }
        tso_response(TsoResponse) { COUNT = 2 TIMESTAMP = 3 }
        timestamp(Timestamp) { PHYSICAL = 1 LOGICAL = 2 SUFFIX_BITS = 3 }
        get_members_response(GetMembersResponse) { MEMBERS = 2 LEADER = 3 ETCD_LEADER = 4 }
        member(Member) { NAME = 1 MEMBER_ID = 2 PEER_URLS = 3 CLIENT_URLS = 4 }
        get_region_request(GetRegionRequest) { REGION_KEY = 2 }
        get_region_by_id_request(GetRegionByIDRequest) { REGION_ID = 2 }
        get_region_response(GetRegionResponse) { REGION = 2 LEADER = 3 }
        scan_regions_request(ScanRegionsRequest) { START_KEY = 2 LIMIT = 3 END_KEY = 4 }
        scan_regions_response(ScanRegionsResponse) { REGION_METAS = 2 LEADERS = 3 REGIONS = 4 }
        region(Region) { REGION = 1 LEADER = 2 }
        get_store_request(GetStoreRequest) { STORE_ID = 2 }
        get_store_response(GetStoreResponse) { STORE = 2 }
        get_all_stores_response(GetAllStoresResponse) { STORES = 2 }
    }
    tikvpb {
        batch_commands_request(BatchCommandsRequest) { REQUESTS = 1 REQUEST_IDS = 2 }
        batch_commands_response(BatchCommandsResponse) { RESPONSES = 1 REQUEST_IDS = 2 }
        command(Request Response) {
            GET = 1 SCAN = 2 PREWRITE = 3 COMMIT = 4 CLEANUP = 6 BATCH_GET = 7 BATCH_ROLLBACK = 8 SCAN_LOCK = 9 RESOLVE_LOCK = 10
            DELETE_RANGE = 12 RAW_GET = 13 RAW_BATCH_GET = 14 RAW_PUT = 15 RAW_BATCH_PUT = 16 RAW_DELETE = 17
            RAW_BATCH_DELETE = 18 RAW_SCAN = 19 RAW_DELETE_RANGE = 20 PESSIMISTIC_LOCK = 23 PESSIMISTIC_ROLLBACK = 24
            CHECK_TXN_STATUS = 25 TXN_HEART_BEAT = 26 CHECK_SECONDARY_LOCKS = 33 EMPTY = 255
        }
        batch_commands_empty(BatchCommandsEmptyRequest BatchCommandsEmptyResponse) { TEST_ID = 1 }
    }
    kvrpcpb {
        request(
            GetRequest ScanRequest PrewriteRequest CommitRequest CleanupRequest BatchGetRequest BatchRollbackRequest
            ScanLockRequest ResolveLockRequest DeleteRangeRequest RawGetRequest RawBatchGetRequest RawPutRequest
            RawBatchPutRequest RawDeleteRequest RawBatchDeleteRequest RawScanRequest RawDeleteRangeRequest
            PessimisticLockRequest PessimisticRollbackRequest CheckTxnStatusRequest TxnHeartBeatRequest
            CheckSecondaryLocksRequest
        ) { CONTEXT = 1 }
        response(
            GetResponse ScanResponse PrewriteResponse CommitResponse CleanupResponse BatchGetResponse BatchRollbackResponse
            ScanLockResponse ResolveLockResponse DeleteRangeResponse RawGetResponse RawBatchGetResponse RawPutResponse
            RawBatchPutResponse RawDeleteResponse RawBatchDeleteResponse RawScanResponse RawDeleteRangeResponse
            PessimisticLockResponse PessimisticRollbackResponse CheckTxnStatusResponse TxnHeartBeatResponse
            CheckSecondaryLocksResponse
        ) { REGION_ERROR = 1 }
        error_response(
            GetResponse CommitResponse CleanupResponse BatchRollbackResponse ResolveLockResponse DeleteRangeResponse
            RawGetResponse RawPutResponse RawBatchPutResponse RawDeleteResponse RawBatchDeleteResponse RawDeleteRangeResponse
            CheckTxnStatusResponse TxnHeartBeatResponse
        ) { ERROR = 2 }
        errors_response(PrewriteResponse PessimisticLockResponse) { ERRORS = 2 }
        context(Context) {
            REGION_ID = 1 REGION_EPOCH = 2 PEER = 3 RESOLVED_LOCKS = 13 IS_RETRY_REQUEST = 20 API_VERSION = 21 KEYSPACE_ID = 32
        }
        api_version(APIVersion) { V2 = 2 }
        key_error(KeyError) {
            LOCKED = 1 RETRYABLE = 2 ABORT = 3 CONFLICT = 4 ALREADY_EXIST = 5 DEADLOCK = 6 COMMIT_TS_EXPIRED = 7 TXN_NOT_FOUND = 8
        }
        lock_info(LockInfo) {
            PRIMARY_LOCK = 1 LOCK_VERSION = 2 KEY = 3 LOCK_TTL = 4 LOCK_TYPE = 6 LOCK_FOR_UPDATE_TS = 7 USE_ASYNC_COMMIT = 8
            MIN_COMMIT_TS = 9 SECONDARIES = 10
        }
        write_conflict(WriteConflict) { START_TS = 1 CONFLICT_TS = 2 KEY = 3 CONFLICT_COMMIT_TS = 5 }
        already_exist(AlreadyExist) { KEY = 1 }
        commit_ts_expired(CommitTsExpired) { START_TS = 1 ATTEMPTED_COMMIT_TS = 2 KEY = 3 MIN_COMMIT_TS = 4 }
        txn_not_found(TxnNotFound) { START_TS = 1 PRIMARY_KEY = 2 }
        op(Op) { PUT = 0 DEL = 1 INSERT = 4 PESSIMISTIC_LOCK = 5 CHECK_NOT_EXISTS = 6 }
        mutation(Mutation) { OP = 1 KEY = 2 VALUE = 3 }
        kv_pair(KvPair) { ERROR = 1 KEY = 2 VALUE = 3 }
        get_request(GetRequest) { KEY = 2 VERSION = 3 }
        get_response(GetResponse RawGetResponse) { ERROR = 2 VALUE = 3 NOT_FOUND = 4 }
        batch_get_request(BatchGetRequest) { KEYS = 2 VERSION = 3 }
        pairs_response(BatchGetResponse ScanResponse RawBatchGetResponse) { PAIRS = 2 }
        scan_request(ScanRequest) { START_KEY = 2 LIMIT = 3 VERSION = 4 KEY_ONLY = 5 END_KEY = 7 }
        scan_response(ScanResponse) { PAIRS = 2 ERROR = 3 }
        prewrite_request(PrewriteRequest) {
            MUTATIONS = 2 PRIMARY_LOCK = 3 START_VERSION = 4 LOCK_TTL = 5 PESSIMISTIC_ACTIONS = 7 TXN_SIZE = 8 FOR_UPDATE_TS = 9
            MIN_COMMIT_TS = 10 USE_ASYNC_COMMIT = 11 SECONDARIES = 12 TRY_ONE_PC = 13
        }
        pessimistic_action(PessimisticAction) { DO_PESSIMISTIC_CHECK = 1 }
        prewrite_response(PrewriteResponse) { MIN_COMMIT_TS = 3 ONE_PC_COMMIT_TS = 4 }
        commit_request(CommitRequest) { START_VERSION = 2 KEYS = 3 COMMIT_VERSION = 4 }
        commit_response(CommitResponse CleanupResponse) { COMMIT_VERSION = 3 }
        cleanup_request(CleanupRequest) { KEY = 2 START_VERSION = 3 }
        batch_rollback_request(BatchRollbackRequest) { START_VERSION = 2 KEYS = 3 }
        scan_lock_request(ScanLockRequest) { MAX_VERSION = 2 START_KEY = 3 LIMIT = 4 }
        locks_response(ScanLockResponse CheckSecondaryLocksResponse) { LOCKS = 3 }
        resolve_lock_request(ResolveLockRequest) { START_VERSION = 2 COMMIT_VERSION = 3 KEYS = 5 }
        delete_range_request(DeleteRangeRequest RawDeleteRangeRequest) { START_KEY = 2 END_KEY = 3 }
        pessimistic_lock_request(PessimisticLockRequest) {
            MUTATIONS = 2 PRIMARY_LOCK = 3 START_VERSION = 4 LOCK_TTL = 5 FOR_UPDATE_TS = 6 IS_FIRST_LOCK = 7 RETURN_VALUES = 10
            MIN_COMMIT_TS = 11 CHECK_EXISTENCE = 12
        }
        pessimistic_lock_response(PessimisticLockResponse) { VALUES = 5 NOT_FOUNDS = 6 }
        pessimistic_rollback_request(PessimisticRollbackRequest) { START_VERSION = 2 FOR_UPDATE_TS = 3 KEYS = 4 }
        check_txn_status_request(CheckTxnStatusRequest) {
            PRIMARY_KEY = 2 LOCK_TS = 3 CALLER_START_TS = 4 CURRENT_TS = 5 ROLLBACK_IF_NOT_EXIST = 6
        }
        check_txn_status_response(CheckTxnStatusResponse) { LOCK_TTL = 3 COMMIT_VERSION = 4 ACTION = 5 LOCK_INFO = 6 }
        action(Action) { TTL_EXPIRE_ROLLBACK = 1 LOCK_NOT_EXIST_ROLLBACK = 2 MIN_COMMIT_TS_PUSHED = 3 }
        txn_heart_beat_request(TxnHeartBeatRequest) { PRIMARY_LOCK = 2 START_VERSION = 3 ADVISE_LOCK_TTL = 4 }
        txn_heart_beat_response(TxnHeartBeatResponse) { LOCK_TTL = 3 }
        check_secondary_locks_request(CheckSecondaryLocksRequest) { KEYS = 2 START_VERSION = 3 }
        check_secondary_locks_response(CheckSecondaryLocksResponse) { COMMIT_TS = 4 }
        raw_put_request(RawPutRequest) { KEY = 2 VALUE = 3 }
        raw_pairs(RawBatchPutRequest) { PAIRS = 2 }
        key_request(GetRequest CleanupRequest RawGetRequest RawPutRequest RawDeleteRequest) { KEY = 2 }
        range_request(ScanRequest RawScanRequest DeleteRangeRequest RawDeleteRangeRequest) { START_KEY = 2 }
        raw_keys_request(RawBatchGetRequest RawBatchDeleteRequest) { KEYS = 2 }
        raw_scan_request(RawScanRequest) { START_KEY = 2 LIMIT = 3 KEY_ONLY = 4 END_KEY = 7 }
        raw_scan_response(RawScanResponse) { KVS = 2 }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    /// Names as both sides have them: `RAW_GET`, `RawGet` and `raw_get` are one.
    fn bare(name: &str) -> String {
        name.replace('_', "").to_lowercase()
    }

    /// Every number of the definitions, by package, message (of nested ones the innermost) and field.
    fn published() -> HashMap<(String, String, String), u32> {
        let (mut all, mut package, mut within) = (HashMap::new(), String::new(), Vec::new());
        for line in include_str!("../tests/kvproto.proto").lines().map(str::trim) {
            let words: Vec<&str> = line.trim_end_matches(';').split_whitespace().collect();
            match words[..] {
                ["package", name] => package = name.to_owned(),
                ["message" | "enum", name, "{"] => within.push(name.to_owned()),
                // Its fields are those of the message around it.
                ["oneof", _, "{"] => within.extend(within.last().cloned()),
                ["}"] => drop(within.pop()),
                [.., field, "=", number] => {
                    let (message, number) = (within.last().expect(line).clone(), number.parse().expect(line));
                    all.insert((package.clone(), message, bare(field)), number);
                }
                _ => {}
            }
        }
        all
    }

    #[test]
    fn every_number_is_the_published_one() {
        let published = published();
        for (package, messages, fields) in super::MODULES {
            for message in *messages {
                for (field, number) in *fields {
                    let found = published.get(&((*package).to_owned(), (*message).to_owned(), bare(field)));
                    assert_eq!(found, Some(number), "{package}.{message}.{field}");
                }
            }
        }
    }
}
