//! One request to the region of a key, sent again wherever the region went, until the limit of the target is over.

use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use perbuck_grpc::Parsed;
use perbuck_grpc::kvproto::errorpb::{self, epoch_not_match, not_leader};
use perbuck_grpc::kvproto::kvrpcpb;
use perbuck_grpc::proto::{Value, bytes, bytes_tag, elements, fields};
use perbuck_load::error::{DriverError, ErrorClass, ErrorCode};

use crate::hub::Hub;
use crate::malformed_by;
use crate::regions::{Peer, Region};
use crate::retry::{Tries, Why};
use crate::wire::call::{Call, Command, Stage};
use crate::wire::channel::Channel;
use perbuck_net::watchdog::Watchdog;

/// What a session sends its requests by.
pub(crate) struct Requests {
    pub(crate) hub: Rc<Hub>,
    pub(crate) call: Rc<Call>,
    pub(crate) tries: Tries,
    /// Of waiting for the locks of others, which goes on over many requests.
    pub(crate) lock_tries: Tries,
    pub(crate) watchdog: Watchdog,
    /// Which of the connections to a store it uses.
    number: u32,
    message: Vec<u8>,
    batches: bool,
}

/// How a try ended, if not by an answer.
enum Miss {
    Retry(Why, String),
    Over(DriverError),
}

impl Requests {
    pub(crate) fn new(hub: Rc<Hub>, session: u32) -> Self {
        let target = &hub.settings.target;
        let (limit, number) = (Duration::from_millis(target.read_timeout_ms.into()), session % target.connections.max(1));
        let (tries, batches) = (|| Tries::new(target.retry_limit_ms, session), target.batch_size > 0);
        let (tries, lock_tries) = (tries(), tries());
        Self { hub, call: Rc::default(), tries, lock_tries, watchdog: Watchdog::new(limit), number, message: Vec::new(), batches }
    }

    /// A timestamp of the cluster.
    ///
    /// # Errors
    /// `Failed` where PD gives none within the limit for all attempts.
    pub(crate) async fn timestamp(&mut self) -> Result<u64, DriverError> {
        self.tries.restart();
        loop {
            self.fresh_call();
            let words = match self.hub.ask_timestamp(&self.call).await {
                Ok(channel) => match ended(&self.call, &mut self.watchdog).await {
                    Some(Stage::Answered) => return Ok(self.call.number.get()),
                    Some(_) => self.call.words(),
                    None => format!("PD at {} did not answer within the limit", channel.address()),
                },
                Err(error) if error.class == ErrorClass::Lost => error.into_message(),
                Err(error) => return Err(error),
            };
            self.hub.forget_pd();
            Box::pin(self.tries.retry(Why::Pd, &words, &self.hub.settings.counts)).await?;
        }
    }

    /// What `look` finds in the answer.
    ///
    /// # Errors
    /// `Fatal` where it is not in the format of TiKV.
    #[inline]
    pub(crate) fn answer<T>(&self, look: impl FnOnce(&[u8]) -> Parsed<T>) -> Result<T, DriverError> {
        self.call.with(look).map_err(|why| malformed_by("a store", "TiKV", why))
    }

    /// Sends a command to the region of `key`: its `Context`, and what `write` adds. The answer is in `call`.
    ///
    /// # Errors
    /// `Failed` where the limit for all attempts is over. Other errors are not retried.
    #[inline]
    pub(crate) async fn send(
        &mut self,
        command: Command,
        key: &[u8],
        write: impl FnMut(&mut Vec<u8>, &Region),
    ) -> Result<Rc<Region>, DriverError> {
        self.send_past(command, key, &[], write).await
    }

    /// As [`Self::send`], of a reader that may pass these locks: their transactions commit after its time.
    #[inline]
    pub(crate) async fn send_past(
        &mut self,
        command: Command,
        key: &[u8],
        resolved_locks: &[u64],
        mut write: impl FnMut(&mut Vec<u8>, &Region),
    ) -> Result<Rc<Region>, DriverError> {
        self.tries.restart();
        loop {
            let region = match self.hub.known_region(key) {
                Some(region) => region,
                None => Box::pin(self.hub.ask_region(key)).await?,
            };
            let miss = match self.try_once(command, &region, resolved_locks, &mut write).await {
                Ok(()) => return Ok(region),
                Err(miss) => miss,
            };
            match miss {
                Miss::Retry(why, words) => {
                    let counts = &self.hub.settings.counts;
                    Box::pin(self.tries.retry(why, &words, counts)).await?;
                }
                Miss::Over(error) => return Err(error),
            }
        }
    }

    /// Waits for the end of another call than the session's; `None` where the limit for an answer came first.
    pub(crate) fn ended_of(&mut self, call: &Call) -> impl Future<Output = Option<Stage>> {
        ended(call, &mut self.watchdog)
    }

    /// Sends a command once, and waits for nothing. False where it went nowhere, because its region is not known now.
    pub(crate) fn send_unanswered(
        &mut self,
        command: Command,
        key: &[u8],
        call: &Rc<Call>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        let Some(region) = self.hub.known_region(key) else { return false };
        let Some(channel) = self.hub.known_channel(region.store(), self.number) else { return false };
        self.message.clear();
        region.put_context(&mut self.message, false, &[]);
        write(&mut self.message);
        self.hand_over(command, &channel, call);
        true
    }

    #[inline]
    fn hand_over(&self, command: Command, channel: &Channel, call: &Rc<Call>) {
        if self.batches {
            channel.command(command.0, &self.message, call);
        } else {
            channel.call(command.1, &self.message, call);
        }
    }

    async fn try_once(
        &mut self,
        command: Command,
        region: &Rc<Region>,
        resolved_locks: &[u64],
        write: &mut impl FnMut(&mut Vec<u8>, &Region),
    ) -> Result<(), Miss> {
        let store = region.store();
        let channel = match self.hub.known_channel(store, self.number) {
            Some(channel) => channel,
            None => match Box::pin(self.hub.open_channel(store, self.number)).await {
                Ok(channel) => channel,
                Err(error) if error.class == ErrorClass::Lost => {
                    return Err(self.store_lost(region, store, error.into_message()));
                }
                Err(error) => return Err(Miss::Over(error)),
            },
        };
        self.message.clear();
        region.put_context(&mut self.message, self.tries.begun(), resolved_locks);
        write(&mut self.message, region);
        self.fresh_call();
        self.hand_over(command, &channel, &self.call);
        match ended(&self.call, &mut self.watchdog).await {
            Some(Stage::Answered) => match self.call.with(region_error) {
                Ok(None) => Ok(()),
                Ok(Some(error)) => Err(self.moved(region, store, error, &channel)),
                Err(why) => Err(Miss::Over(malformed_by(channel.address(), "TiKV", why))),
            },
            stage => Err(self.unanswered(region, store, stage, &channel)),
        }
    }

    /// A call that was given up must not be used again: its answer may come yet.
    #[inline]
    fn fresh_call(&mut self) {
        if self.call.stage() == Stage::Waiting {
            self.call = Rc::default();
        }
    }

    #[cold]
    fn store_lost(&self, region: &Rc<Region>, store: u64, words: String) -> Miss {
        // The address may be another one by now, and PD may know of another leader.
        self.hub.forget_store(store);
        if !region.try_next(store, &self.hub.settings.space) {
            self.hub.forget(region);
        }
        Miss::Retry(Why::StoreLost, words)
    }

    #[cold]
    fn unanswered(&self, region: &Rc<Region>, store: u64, stage: Option<Stage>, channel: &Channel) -> Miss {
        let address = channel.address();
        match stage {
            None => {
                self.hub.forget(region);
                Miss::Retry(Why::Timeout, format!("{address} did not answer within the limit"))
            }
            Some(Stage::Status(code)) => {
                let words = format!("{address} refused: {} (status {code} of gRPC)", self.call.words());
                match code {
                    // Cancelled, deadline exceeded, exhausted, aborted, unavailable.
                    1 | 4 | 8 | 10 | 14 => self.store_lost(region, store, words),
                    7 | 16 => Miss::Over(DriverError::client(ErrorClass::Refused, "auth", words)),
                    _ => Miss::Over(crate::refused(ErrorClass::Fatal, words)),
                }
            }
            Some(_) => self.store_lost(region, store, self.call.words()),
        }
    }

    #[cold]
    fn moved(&self, region: &Rc<Region>, store: u64, error: RegionError, channel: &Channel) -> Miss {
        let hub = &self.hub;
        match error.why {
            Some(Why::NotLeader) => match error.leader {
                Some(leader) if leader.id != 0 => region.led_by(leader, &hub.settings.space),
                _ => {
                    hub.forget(region);
                    return Miss::Retry(Why::NoLeader, error.words);
                }
            },
            Some(Why::EpochNotMatch) => {
                hub.forget(region);
                let regions: Vec<&[u8]> = error.regions.iter().map(Vec::as_slice).collect();
                if let Err(why) = hub.told(&regions, store) {
                    return Miss::Over(crate::hub::malformed(channel.address(), why));
                }
            }
            Some(Why::StoreNotMatch) => {
                hub.forget_store(store);
                hub.forget(region);
            }
            Some(Why::RegionNotFound | Why::KeyNotInRegion | Why::NotReady) => hub.forget(region),
            Some(_) => {}
            None => {
                let message = format!("{} refused: {}", channel.address(), error.words);
                return Miss::Over(DriverError::new(ErrorClass::Failed, ErrorCode::Word("tikv", "region"), message));
            }
        }
        Miss::Retry(error.why.unwrap_or(Why::NotReady), error.words)
    }
}

/// Waits for the end of a call; `None` where the limit for an answer came first.
#[inline]
fn ended(call: &Call, watchdog: &mut Watchdog) -> impl Future<Output = Option<Stage>> {
    watchdog.rearm();
    poll_fn(|cx| match call.poll_ended(cx.waker()) {
        Poll::Ready(stage) => Poll::Ready(Some(stage)),
        Poll::Pending => watchdog.poll_overdue().map(|()| None),
    })
}

/// What a region answers instead (errorpb.proto).
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RegionError {
    /// `None` is one that will not get better.
    why: Option<Why>,
    leader: Option<Peer>,
    regions: Vec<Vec<u8>>,
    words: String,
}

/// The region error of an answer, which begins with it.
#[inline]
pub(crate) fn region_error(answer: &[u8]) -> Parsed<Option<RegionError>> {
    if answer.first() != Some(&(bytes_tag(kvrpcpb::get_response::REGION_ERROR) as u8)) {
        return Ok(None);
    }
    match fields(answer).next() {
        Some(Ok((kvrpcpb::get_response::REGION_ERROR, Value::Bytes(error)))) => parse_error(error).map(Some),
        Some(Err(why)) => Err(why),
        _ => Ok(None),
    }
}

#[cold]
fn parse_error(message: &[u8]) -> Parsed<RegionError> {
    let mut error = RegionError { why: Some(Why::NotReady), ..RegionError::default() };
    for field in fields(message) {
        let (number, Value::Bytes(detail)) = field? else { continue };
        error.why = match number {
            errorpb::error::MESSAGE => {
                error.words = perbuck_net::printable(detail);
                continue;
            }
            errorpb::error::NOT_LEADER => {
                let [leader] = bytes(detail, [not_leader::LEADER])?;
                error.leader = Some(Peer::parse(leader)?);
                Some(Why::NotLeader)
            }
            errorpb::error::REGION_NOT_FOUND => Some(Why::RegionNotFound),
            errorpb::error::KEY_NOT_IN_REGION => Some(Why::KeyNotInRegion),
            errorpb::error::EPOCH_NOT_MATCH => {
                let regions = elements(detail, epoch_not_match::CURRENT_REGIONS);
                error.regions = regions.map(|region| region.map(<[u8]>::to_vec)).collect::<Parsed<_>>()?;
                Some(Why::EpochNotMatch)
            }
            errorpb::error::SERVER_IS_BUSY => Some(Why::ServerIsBusy),
            errorpb::error::STALE_COMMAND => Some(Why::StaleCommand),
            errorpb::error::STORE_NOT_MATCH => Some(Why::StoreNotMatch),
            // An entry of the log that is too large stays too large.
            errorpb::error::RAFT_ENTRY_TOO_LARGE => None,
            _ => Some(Why::NotReady),
        };
    }
    Ok(error)
}

#[cfg(test)]
mod tests {
    use perbuck_grpc::proto::{put_bytes, put_message, put_uint};

    use super::*;

    fn error(number: u32, detail: impl FnOnce(&mut Vec<u8>)) -> RegionError {
        let mut answer = Vec::new();
        put_message(&mut answer, 1, |error| {
            put_bytes(error, 1, b"in words");
            put_message(error, number, detail);
        });
        region_error(&answer).unwrap().unwrap()
    }

    #[test]
    fn every_region_error_has_its_reason() {
        let leader = error(2, |d| {
            put_message(d, 2, |p| {
                put_uint(p, 1, 9);
                put_uint(p, 2, 3);
            });
        });
        assert_eq!((leader.why, leader.leader), (Some(Why::NotLeader), Some(Peer { id: 9, store: 3 })));
        let epoch = error(5, |d| put_message(d, 1, |r| put_uint(r, 1, 4)));
        assert_eq!((epoch.why, epoch.regions.len(), epoch.words.as_str()), (Some(Why::EpochNotMatch), 1, "in words"));
        for (number, why) in [
            (3, Some(Why::RegionNotFound)),
            (4, Some(Why::KeyNotInRegion)),
            (6, Some(Why::ServerIsBusy)),
            (7, Some(Why::StaleCommand)),
            (8, Some(Why::StoreNotMatch)),
            (9, None),
            (13, Some(Why::NotReady)),
        ] {
            assert_eq!(error(number, |_| ()).why, why);
        }
        assert_eq!(region_error(b"\x1a\x01x"), Ok(None));
        assert_eq!(region_error(b""), Ok(None));
    }
}
