-- What a state has once, for all of its terminals: how modules are found, C functions, and the environments of terminals that share the state.
local host = ...
local chunks, setfenv, loadfile, error, pairs = {}, setfenv, loadfile, error, pairs
local require, searchpath, package = require, package.searchpath, package

io.stdout:setvbuf("no")

-- What a module reads of results decides what is kept of them.
local find, open = package.loaders[2], io.open
local function look_at_file(path)
  local file = path and open(path, "rb")
  if file then
    host.look_at(file:read("*a"))
    file:close()
  end
end
package.loaders[2] = function(name)
  look_at_file(searchpath(name, package.path))
  return find(name)
end

-- A call that sleeps in C would stop every terminal of its load thread.
local C, own = ffi.C, {}
function own.usleep(us)
  host.ask(host.SLEEP, tonumber(us))
  return 0
end
for _, law in ipairs { "default", "uniform", "gaussian", "special", "pareto", "zipfian", "unique" } do own["sb_rand_" .. law] = host["rand_" .. law] end
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
    local path = searchpath(name, package.path)
    -- What is no file in Lua is the same for all.
    if not path then return require(name) end
    local chunk = chunks[path]
    if not chunk then
      local failure
      chunk, failure = loadfile(path)
      if not chunk then error(failure, 0) end
      chunks[path] = chunk
      look_at_file(path)
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
