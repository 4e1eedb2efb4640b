-- sysbench.sql: connections, statements, parameters and result sets. A call that needs the server yields a request to perbuck, which resumes
-- the coroutine with three numbers: what came (a request code of `host`), rows, and columns. Connections have numbers. Terminals that share a state share this code.
local host = ...
local yield, unpack, select, type = coroutine.yield, unpack, select, type
local error, setmetatable, tonumber, tostring = error, setmetatable, tonumber, tostring
local EXECUTE, QUERY, PREPARE, FETCH = host.EXECUTE, host.QUERY, host.PREPARE, host.FETCH
local CONNECT, RECONNECT, CLOSE = host.CONNECT, host.RECONNECT, host.CLOSE

-- Coroutines of the script itself: a request within one passes through them, and is no value that the script yields.
local nested, asked = false, false
local function answered(...)
  asked = false
  return ...
end
local function ask(...)
  if not host.threaded then
    error("a query is asked outside of any thread: perbuck has connections in thread_init, event, thread_done and commands", 0)
  end
  if nested then
    asked = true
    return answered(yield(...))
  end
  return yield(...)
end
host.ask, host.yield = ask, yield

local resume, create = coroutine.resume, coroutine.create
local function passed(co, ok, ...)
  if ok and asked then return passed(co, resume(co, yield(...))) end
  return ok, ...
end
function coroutine.create(f)
  nested = true
  return create(f)
end
function coroutine.resume(co, ...) return passed(co, resume(co, ...)) end
local function unwrapped(ok, ...)
  if not ok then error((...), 0) end
  return ...
end
function coroutine.wrap(f)
  local co = coroutine.create(f)
  return function(...) return unwrapped(coroutine.resume(co, ...)) end
end

local t = {
  NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7, DATE = 8, DATETIME = 9, TIMESTAMP = 10,
  CHAR = 11, VARCHAR = 12,
}
local RESTART_EVENT = 1
host.restart = { __tostring = function(e) return e.sql_errmsg end }

local Result, Integer, Float, Text, Statement, Connection, Driver = {}, {}, {}, {}, {}, {}, {}
local function class(methods, name)
  methods.__index = methods
  methods.__tostring = function() return name end
  -- What a script prints of a handle is its name, and nothing within.
  methods.__metatable = false
end

-- Raises the error that the server gave to a query; never returns.
local function raise(con, status, query, level)
  local e = host.failure
  local failed = { connection = con, query = query, sql_errno = e.errno, sql_state = e.state, sql_errmsg = e.message }
  local ignorable = status == host.IGNORABLE
  if not ignorable then
    host.log("FATAL: " .. e.words .. " for query '" .. query .. "'")
    local hook = con.own.sysbench.hooks.sql_error_ignorable
    if type(hook) == "function" and hook(failed) then
      ignorable, failed.hooked = true, true
    end
  end
  if ignorable then
    failed.errcode = RESTART_EVENT
    error(setmetatable(failed, host.restart), level + 1)
  end
  error(("SQL error, errno = %d, state = '%s': %s"):format(e.errno, e.state, e.message), level + 1)
end

local function alert(words)
  host.log("ALERT: " .. words)
end

local function open(con)
  if con.closed then
    alert("attempt to use an already closed connection")
    error("SQL API error", 3)
  end
end

-- The result of a statement. As in sysbench a connection has one, which the next statement fills again.
local function filled(rs, rows, fields)
  rs.nrows, rs.nfields, rs.at, rs.live = rows, fields, 0, true
  return rs
end

local function emptied(rs)
  rs.nrows, rs.nfields, rs.at, rs.live = 0, 0, 0, false
end

class(Result, "<sql_result>")
function Result:fetch_row()
  if self.at >= self.nrows or self.nfields == 0 then return nil end
  open(self.connection)
  local status = ask(FETCH, self.at, self.number)
  if status < 0 then raise(self.connection, status, "<fetch>", 2) end
  self.at = self.at + 1
  local row, cells = {}, host.row
  for i = 1, self.nfields do row[i] = cells[i] end
  return row
end
function Result:free()
  if not self.live then
    alert("attempt to free an invalid result set")
    error("db_free_results() failed", 2)
  end
  self.live = false
  return true
end

class(Integer, "<sql_param>")
function Integer:set(value)
  if type(value) ~= "number" and value ~= nil then
    value = tonumber(value) or error("a number is expected, and " .. type(value) .. " was given", 2)
  end
  self.value = value
end
function Integer:set_rand_str() error("Unsupported argument type: " .. self.type, 2) end

class(Float, "<sql_param>")
function Float:set(value)
  if value ~= nil then value = ("%.17g"):format(tonumber(value)) end
  self.value = value
end
Float.set_rand_str = Integer.set_rand_str

class(Text, "<sql_param>")
function Text:set(value)
  if value ~= nil then
    if type(value) ~= "string" then value = tostring(value) end
    if #value > self.longest then value = value:sub(1, self.longest) end
  end
  self.value = value
end
local random_string = host.random_string
function Text:set_rand_str(format)
  local value = random_string(format)
  if #value > self.longest then value = value:sub(1, self.longest) end
  self.value = value
end

class(Statement, "<sql_statement>")
function Statement:bind_create(kind, longest)
  if kind == t.CHAR or kind == t.VARCHAR then
    return setmetatable({ type = t.VARCHAR, longest = longest or 255 }, Text)
  elseif kind == t.FLOAT or kind == t.DOUBLE then
    return setmetatable({ type = t.DOUBLE }, Float)
  elseif kind == t.TINYINT or kind == t.SMALLINT or kind == t.INT or kind == t.BIGINT then
    return setmetatable({ type = t.BIGINT }, Integer)
  end
  error("Unsupported argument type: " .. tostring(kind), 2)
end
function Statement:bind_param(...)
  local count = select("#", ...)
  if count < 1 then return nil end
  self.params, self.count = { ... }, count
  return 0
end
function Statement:execute()
  open(self.connection)
  local id, p, count = self.id, self.params, self.count
  local status, rows, fields
  if count == 0 then
    status, rows, fields = ask(EXECUTE, id)
  elseif count == 1 then
    status, rows, fields = ask(EXECUTE, id, p[1].value)
  elseif count == 2 then
    status, rows, fields = ask(EXECUTE, id, p[1].value, p[2].value)
  elseif count == 4 then
    status, rows, fields = ask(EXECUTE, id, p[1].value, p[2].value, p[3].value, p[4].value)
  else
    local values = {}
    for i = 1, count do values[i] = p[i].value end
    status, rows, fields = ask(EXECUTE, id, unpack(values, 1, count))
  end
  if status < 0 then raise(self.connection, status, "<prepared statement>", 2) end
  return filled(self.result, rows, fields)
end
function Statement:next_result() return nil end
function Statement:close()
  return 0
end

class(Connection, "<sql_connection>")
function Connection:query(query)
  open(self)
  local status, rows, fields = ask(QUERY, query, self.number)
  if status < 0 then raise(self, status, query, 2) end
  -- As in sysbench, what returns no rows has no result.
  if status > 0 then return filled(self.result, rows, fields) end
end
function Connection:query_row(query)
  local rs = self:query(query)
  if not rs or rs.nrows == 0 or rs.nfields == 0 then return nil end
  return unpack(rs:fetch_row(), 1, rs.nfields)
end
function Connection:more_results() return false end
function Connection:next_result() return nil end
function Connection:prepare(query)
  open(self)
  local status, id = ask(PREPARE, query, self.number)
  if status < 0 then
    host.log("FATAL: " .. host.failure.prepare)
    error("SQL API error", 2)
  end
  return setmetatable({ connection = self, result = self.result, id = id, count = 0 }, Statement)
end
function Connection:disconnect()
  if self.closed then
    alert("attempt to close an already closed connection")
    return true
  end
  self.closed, self.handle.closed, self.bulk = true, true, nil
  emptied(self.result)
  ask(CLOSE, self.number)
  self.own.open = self.own.open - 1
  return true
end
function Connection:reconnect()
  if self.closed then
    alert("attempt to close an already closed connection")
    return true
  end
  emptied(self.result)
  local status = ask(RECONNECT, self.number)
  if status < 0 then error("db_connection_reconnect() failed: " .. host.failure.message, 2) end
  return true
end

-- Rows of one INSERT are sent together when they have so many bytes.
local BULK_BYTES = 512 * 1024
function Connection:bulk_insert_init(head)
  self.bulk = { head = head, size = #head, n = 0 }
  return true
end
local function send_bulk(con)
  open(con)
  local bulk = con.bulk
  if bulk.n == 0 then return end
  local query = bulk.head .. " " .. table.concat(bulk, ",", 1, bulk.n)
  bulk.n, bulk.size = 0, #bulk.head
  local status = ask(QUERY, query, con.number)
  if status < 0 then raise(con, status, query:sub(1, 200), 3) end
end
function Connection:bulk_insert_next(row)
  local bulk = self.bulk
  if not bulk then
    alert("attempt to call bulk_insert_next() before bulk_insert_init()")
    error("db_bulk_insert_next() failed", 2)
  end
  if bulk.size + #row + 1 > BULK_BYTES then send_bulk(self) end
  bulk.n = bulk.n + 1
  bulk[bulk.n] = row
  bulk.size = bulk.size + #row + 1
  return true
end
function Connection:bulk_insert_done()
  if self.bulk then
    send_bulk(self)
    self.bulk = nil
  end
  return true
end

class(Driver, "<sql_driver>")
function Driver:name() return host.driver end
-- As under sysbench, a connection that a script holds no more is closed once its memory is collected. Where many are open, that is done first.
local FEW = 8
local function close_dropped(own)
  local all = own.dropped
  own.dropped = {}
  for i = 1, #all do
    own.open = own.open - 1
    ask(CLOSE, all[i])
  end
end
local function make_room(own)
  close_dropped(own)
  if own.open < own.most then return end
  collectgarbage()
  close_dropped(own)
  own.most = math.max(FEW, 2 * own.open)
end
-- Tells when the memory of a connection is collected.
local function handle_of(own, number)
  local handle, proxy = { closed = false }, newproxy(true)
  getmetatable(proxy).__gc = function()
    if not handle.closed then own.dropped[#own.dropped + 1] = number end
  end
  handle.proxy = proxy
  return handle
end
function Driver:connect()
  local own = self.own
  make_room(own)
  local status, number = ask(CONNECT)
  if status < 0 then error("connection creation failed: " .. host.failure.message, 2) end
  local con = setmetatable({ error = 0, own = own, number = number, handle = handle_of(own, number) }, Connection)
  con.result = setmetatable({ nrows = 0, nfields = 0, at = 0, number = number, connection = con }, Result)
  own.open, own.newest[1] = own.open + 1, con
  return con
end

-- Gives a terminal its sysbench.sql.
local function copied(table)
  local copy = {}
  for key, value in pairs(table) do copy[key] = value end
  return copy
end
function host.sql(own)
  local sql = { type = copied(t), error = { NONE = 0, IGNORABLE = 1, FATAL = 2 } }
  own.sysbench.sql, own.sysbench.error = sql, { RESTART_EVENT = RESTART_EVENT }
  -- Connections that are open, after how many of them memory is collected, and those that the script dropped.
  own.open, own.most, own.dropped = 0, FEW, {}
  -- The connection that it opened last, for as long as it holds it.
  own.newest = setmetatable({}, { __mode = "v" })
  function sql.driver(name)
    if name ~= nil and name ~= host.driver then
      host.log("FATAL: invalid database driver name: '" .. tostring(name) .. "'")
      error("failed to initialize the DB driver", 2)
    end
    return setmetatable({ own = own }, Driver)
  end
end
