-- What each terminal has for itself: the table `sysbench`, with options of a script, commands, random numbers, reports and histograms, and the
-- names of sysbench 0.5. It runs once in the environment of each terminal.
local host, own = ...
local tonumber, tostring, type = tonumber, tostring, type

function print(...)
  local words = { ... }
  for i = 1, select("#", ...) do words[i] = tostring(words[i]) end
  host.print(table.concat(words, "\t") .. "\n")
end
sysbench.version, sysbench.version_string = "1.0.20", "sysbench 1.0.20"
sysbench.hooks = {}
own.sysbench = sysbench
host.sql(own)
local cmdline = sysbench.cmdline
cmdline.PARALLEL_COMMAND = true
for value, name in ipairs { "NULL", "BOOL", "INT", "SIZE", "DOUBLE", "STRING", "LIST", "FILE", "MAX" } do
  cmdline["ARG_" .. name] = value - 1
end

local rand = host.rand
if not rand then
  rand = {
    default = host.rand_default, uniform = host.rand_uniform, gaussian = host.rand_gaussian, special = host.rand_special,
    pareto = host.rand_pareto, zipfian = host.rand_zipfian, unique = host.rand_unique, string = host.random_string,
    uniform_double = host.rand_double,
  }
  function rand.uniform_uint64() return host.rand_high() * 4294967296ULL + host.rand_high() end
  function rand.varstring(shortest, longest)
    assert(shortest <= longest and longest > 0)
    return host.random_letters(rand.uniform(shortest, longest))
  end
  -- Where scripts write nothing to it, the terminals of a state have one.
  host.rand = host.shares_tables and rand or nil
end
sysbench.rand = rand

-- Reports of a time: what hooks of a script may print.
local function per_second(stat)
  local s = stat.time_interval
  return stat.events / s, (stat.reads + stat.writes + stat.other) / s, stat.reads / s, stat.writes / s, stat.other / s,
    stat.latency_pct * 1000, stat.errors / s, stat.reconnects / s
end
function sysbench.report_csv(stat)
  print(("%.0f,%u" .. (",%4.2f"):rep(8)):format(stat.time_total, stat.threads_running, per_second(stat)))
end
function sysbench.report_default(stat)
  local tps, qps, reads, writes, other, latency, errors, reconnects = per_second(stat)
  local percent = sysbench.opt.percentile
  print(("[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%u%%): %4.2f err/s %4.2f reconn/s: %4.2f"):format(
    stat.time_total, stat.threads_running, tps, qps, reads, writes, other, percent, latency, errors, reconnects))
end
function sysbench.report_json(stat)
  local tps, qps, reads, writes, other, latency, errors, reconnects = per_second(stat)
  host.print(own.reported and ",\n" or "[\n")
  own.reported = true
  local function line(indent, name, form, value) return ('%s"%s": ' .. form):format(indent, name, value) end
  local outer, inner = "    ", "      "
  host.print("  {\n" .. table.concat({
    line(outer, "time", "%4.0f", stat.time_total), line(outer, "threads", "%u", stat.threads_running),
    line(outer, "tps", "%4.2f", tps),
    outer .. '"qps": {\n' .. table.concat({
      line(inner, "total", "%4.2f", qps), line(inner, "reads", "%4.2f", reads), line(inner, "writes", "%4.2f", writes),
      line(inner, "other", "%4.2f", other) }, ",\n") .. "\n" .. outer .. "}",
    line(outer, "latency", "%4.2f", latency), line(outer, "errors", "%4.2f", errors),
    line(outer, "reconnects", "%4.2f", reconnects) }, ",\n") .. "\n  }")
end
function own.reports_end()
  if own.reported then host.print("\n]\n") end
  own.reported = nil
end

-- Histograms whose buckets are each a constant factor wider than the last.
local Histogram = {}
Histogram.__index = Histogram
Histogram.__tostring = function() return "<sb_histogram>" end
sysbench.histogram = {}
function sysbench.histogram.new(size, low, high)
  return setmetatable({ size = size, low = low, per_factor = (size - 1) / math.log(high / low) }, Histogram)
end
function Histogram:update(value)
  local at = math.floor(math.log(math.max(value, self.low) / self.low) * self.per_factor + 0.5)
  at = math.min(at, self.size - 1)
  self[at] = (self[at] or 0) + 1
end
function Histogram:print()
  local most = 0
  for at = 0, self.size - 1 do most = math.max(most, self[at] or 0) end
  if most == 0 then return end
  print("       value  ------------- distribution ------------- count")
  for at = 0, self.size - 1 do
    if self[at] then
      local stars = ("*"):rep(math.floor(self[at] * 40 / most + 0.5))
      print(("%12.3f |%-40s %u"):format(self.low * math.exp(at / self.per_factor), stars, self[at]))
    end
  end
end

-- Names of sysbench 0.5.
sb_rand, sb_rand_uniform, sb_rand_gaussian, sb_rand_special = rand.default, rand.uniform, rand.gaussian, rand.special
sb_rand_pareto, sb_rand_str, sb_rnd = rand.pareto, rand.string, host.rand_high
function sb_rand_uniq(first, last) return rand.unique(first, last) end
DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED = 0, 1, 2
db_driver = host.driver
local function connected()
  local con = own.connected or own.newest[1]
  if not con or con.closed then con = sysbench.sql.driver():connect() end
  own.connected = con
  return con
end
function db_connect() return connected() end
function db_disconnect() return connected():disconnect() end
function db_query(query) return connected():query(query) end
function db_bulk_insert_init(head) return connected():bulk_insert_init(head) end
function db_bulk_insert_next(row) return connected():bulk_insert_next(row) end
function db_bulk_insert_done() return connected():bulk_insert_done() end
function db_prepare(query) return connected():prepare(query) end
function db_bind_param(stmt, values)
  local t, params = sysbench.sql.type, {}
  for i, value in ipairs(values) do
    params[i] = stmt:bind_create(type(value) == "number" and t.BIGINT or t.VARCHAR, 65536)
    params[i]:set(value)
  end
  stmt.values = values
  return stmt:bind_param(unpack(params))
end
function db_bind_result() return 0 end
function db_execute(stmt)
  -- The table that was bound may hold other values now.
  for i, value in ipairs(stmt.values or {}) do stmt.params[i]:set(value) end
  return stmt:execute()
end
function db_store_results() return 0 end
function db_free_results() return 0 end
function db_close(stmt) return stmt:close() end

-- What perbuck runs: each job in protected mode, one after the other, in one coroutine.
local function traced(e)
  -- A script that was ended says where it was.
  if type(e) == "string" and e:find("stack traceback:", 1, true) then return e end
  if type(e) == "table" and e.errcode == sysbench.error.RESTART_EVENT then return e end
  return debug.traceback(tostring(e), 2)
end
local function command(name)
  local defined = type(cmdline.commands) == "table" and cmdline.commands[name]
  if defined then
    if defined[1]() == false then error("the command '" .. name .. "' failed", 0) end
  elseif type(_G[name]) == "function" then
    _G[name]()
  else
    error("'" .. name .. "' is no command of this script", 0)
  end
end
local restarted
local jobs = {
  [host.THREAD_INIT] = function(tid) if thread_init then thread_init(tid) end end,
  [host.EVENT] = function(tid)
    if restarted then
      local hook, failed = sysbench.hooks.before_restart_event, restarted
      restarted = nil
      if hook then hook(failed) end
    end
    return event(tid)
  end,
  [host.THREAD_DONE] = function(tid) if thread_done then thread_done(tid) end end,
  [host.COMMAND] = function() command(cmdline.command) end,
}
function own.main(tid)
  local yield, xpcall = host.yield, xpcall
  local job = yield(host.READY)
  while true do
    local ok, result = xpcall(jobs[job], traced, tid)
    if ok then
      job = yield(host.DONE, result and 1 or 0)
    elseif type(result) == "table" then
      restarted = result
      job = yield(host.RESTART, result.hooked and 1 or 0)
    else
      job = yield(host.FAILED, result)
    end
  end
end
