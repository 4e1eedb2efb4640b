-- What a state has once, for all of its terminals: how modules are found, C functions, and the environments of terminals that share the state.
local host = ...
local chunks, setfenv, error, pairs = {}, setfenv, error, pairs
local require, searchpath, package = require, package.searchpath, package

io.stdout:setvbuf("no")

-- The text of a module and what messages call it: one that a study holds, or a file. What it reads of results decides what is kept of them.
local open, loadstring = io.open, loadstring
local function source(name)
  local key = name:gsub("%.", "/") .. ".lua"
  if host.modules then
    local text = host.modules[key]
    if text then host.look_at(key, text) end
    return text, text and key or "\n\tno module '" .. key .. "' in the study: add it to `file`"
  end
  local path, tried = searchpath(name, package.path)
  local file = path and open(path, "rb")
  if not file then return nil, tried end
  local text = file:read("*a"):gsub("^#[^\n]*", "")
  file:close()
  host.look_at(key, text)
  return text, path
end
local function load(name, text, path)
  local chunk, failure = loadstring(text, "@" .. path)
  if not chunk then error("error loading module '" .. name .. "':\n\t" .. failure, 0) end
  return chunk
end
package.loaders[2] = function(name)
  local text, path = source(name)
  if not text then return path end
  return load(name, text, path)
end

-- A type that sysbench itself has declared: scripts declare functions with it.
ffi.cdef [[
  typedef enum { SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT, SB_CNT_MAX } sb_counter_type;
]]
-- A call that sleeps in C would stop every terminal of its load thread. perbuck counts statements and errors itself.
local C, own = ffi.C, {}
function own.sb_counter_inc() end
function own.usleep(us)
  host.ask(host.SLEEP, tonumber(us))
  return 0
end
for _, law in ipairs { "default", "uniform", "gaussian", "special", "pareto", "zipfian", "unique" } do
  own["sb_rand_" .. law] = host["rand_" .. law]
end
own.sb_rand_uniform_double = host.rand_double
function own.sb_rand_uniform_uint64() return host.rand_high() * 4294967296ULL + host.rand_high() end
ffi.C = setmetatable({}, { __index = function(_, name) return own[name] or C[name] end })

-- An environment of its own: copies of the tables that a script may write to, and modules that run once in each.
function host.environment()
  local env, loaded = {}, {}
  for name, value in pairs(_G) do env[name] = value end
  for _, name in ipairs { "string", "table", "math", "os", "io", "bit" } do
    local copy = {}
    for key, value in pairs(_G[name]) do copy[key] = value end
    env[name], loaded[name] = copy, copy
  end
  env._G, loaded._G = env, env
  function env.require(name)
    if loaded[name] ~= nil then return loaded[name] end
    local chunk = chunks[name]
    if not chunk then
      local text, path = source(name)
      -- What is no file in Lua is the same for all.
      if not text then return require(name) end
      chunk = load(name, text, path)
      chunks[name] = chunk
    end
    loaded[name] = true
    local value = setfenv(chunk, env)(name)
    if value ~= nil then loaded[name] = value end
    return loaded[name]
  end
  return env
end
-- A coroutine whose global variables are those of an environment.
local create, set_environment = coroutine.create, debug.setfenv
function host.thread(main, env) return set_environment(create(main), env) end
