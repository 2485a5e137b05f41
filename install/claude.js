// c2c's mod for Claude Code, from 2.1.305 on, written by `c2c install claude`. Do not edit: the next install replaces it.
//
// SendMessage reaches the sessions of c2c, ListAgents names them, /inbox shows the person what waits, and the status
// line says how much. It carries no mail and starts no turn: the socket and the hooks do, with or without it. All mods
// share one thread, so the work is left to c2c in a process of its own.

const c2c = "c2c"
const sessions = "sessions" // the client's own list of its sessions, a file for each
const first = [2, 1, 305] // before it the interface was another one
const name = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/ // of a session of c2c
const most = 100 // sessions that are named

const patience = 2000 // ms that mail waits before it is told: what the socket brings has come by then

let dir // where the session began; unset: this client is too old
let file // its time changes when mail comes
let seen // that time
let due = false // it has changed since the last look
let waiting = 0
let looking = false
let again = false

// run starts c2c as a shell of the session would. It fails when c2c cannot be started or does not end.
async function run($, args, stdin) {
  const env = { C2C_MOD: "1", CLAUDE_CODE_SESSION_ID: await $.session.id() }
  return $.process.run([c2c, ...args], { cwd: dir, env, stdin: stdin ?? "", timeoutMs: 30000 })
}

function older(version) {
  const is = version.split(/[.-]/).map(Number)
  const i = first.findIndex((n, i) => is[i] !== n)
  return i >= 0 && !(is[i] > first[i])
}

async function begin($, cwd) {
  if (older((await $.session.version()).version)) return
  dir = cwd
  await $.command.register({ name: "inbox", description: "Show the mail that waits for this session (c2c)", immediate: true })
  await look($)
  $.clock.every(patience, () => void changed($))
}

// changed looks for mail some time after it came. The client's own watch would tell through an event that a policy may
// keep from mods, and then it says so on the screen each time.
async function changed($) {
  const time = file && (await $.fs.stat(file).catch(() => undefined))?.mtimeMs
  const late = due
  due = time !== seen
  seen = time
  if (late) await look($)
}

// look shows how much mail waits, and tells the person when there is more.
async function look($) {
  again = true
  if (looking || !dir) return
  looking = true
  try {
    while (again) {
      again = false
      const { count, from, watch } = JSON.parse((await run($, ["poll-inbox", "--check", "--json"])).stdout)
      file = watch
      const text = count + (count === 1 ? " message waits" : " messages wait") + (from.length ? " from " + from.join(", ") : "") + " (/inbox)"
      $.ui.status(count ? text : undefined)
      if (count > waiting) $.ui.toast(text)
      waiting = count
    }
  } catch (e) {
    $.ui.status(undefined) // not known
    $.ui.log("c2c: look for mail: " + e, { to: "debug" })
  } finally {
    looking = false
  }
}

// theirs says whether the client has somebody by this name. Its own ListAgents would tell, but a call of it runs the
// settings hooks of a tool call, and what they answer reaches no model.
async function theirs($, to) {
  const is = (other) => typeof other === "string" && other.toLowerCase() === to.toLowerCase()
  if (is("main") || (await $.agent.list()).some((a) => is(a.id) || is(a.name) || is(a.teammateId))) return true
  for (const file of await $.fs.list(sessions).catch(() => [])) {
    if (!file.name.endsWith(".json")) continue
    let s
    try {
      s = JSON.parse(await $.fs.read(sessions + "/" + file.name))
    } catch {
      continue // it has just ended, or was killed while it wrote
    }
    if (is(s?.name) || is(s?.sessionId)) return true
  }
  return false
}

// send answers SendMessage to a session of c2c: delivered is what is stored. Whom c2c does not know is the client's.
async function send($, e, next) {
  if (!dir || !name.test(e.to) || (await theirs($, e.to))) return next(e)
  let r
  try {
    r = await run($, ["send", e.to, "-"], e.text)
  } catch (x) {
    if (!(await $.fs.exists(c2c))) return next(e)
    return { isDelivered: false, reason: "c2c did not answer, so it is not known whether the message is stored: " + x }
  }
  if (r.exitCode === 4) return next(e) // no such alias
  return r.exitCode === 0 ? { isDelivered: true } : { isDelivered: false, reason: r.stderr.slice(0, 2000) }
}

// list adds the sessions of c2c to what the model reads of ListAgents.
async function list($, e, next) {
  const answer = await next(e)
  if (!dir || answer.deny) return answer
  try {
    const me = JSON.parse((await run($, ["whoami", "--json"])).stdout)
    const others = JSON.parse((await run($, ["list", "--json"])).stdout).filter((s) => s.session_id !== me.session_id && name.test(s.alias))
    const lines = others.slice(0, most).map((s) => s.alias + " (" + (name.test(s.client) ? s.client + ", " : "") + s.state + ")")
    if (others.length > most) lines.push("and " + (others.length - most) + " more: c2c list")
    if (!lines.length || !name.test(me.alias)) return answer
    const text = "SendMessage also reaches these sessions of c2c by name. You are " + me.alias + " there.\n" + lines.join("\n")
    return { ...answer, context: [...(answer.context ?? []), text] }
  } catch (x) {
    $.ui.log("c2c: list sessions: " + x, { to: "debug" })
    return answer
  }
}

// inbox shows the mail to the person alone: the model gets it from the hooks, once. What a command answers the model reads.
async function inbox($) {
  const { stdout, stderr } = await run($, ["peek-inbox"])
  // A line each: the client shows a line break as a character that it does not know.
  for (const line of (stdout || stderr).split("\n")) if (line) $.ui.log(line)
  return { text: "c2c has shown what waits to the person." }
}

export function register(on) {
  on("session.start", async ($, e, next) => {
    void begin($, e.cwd).catch((x) => $.ui.log("c2c: " + x, { to: "debug" }))
    return next(e)
  })
  on("turn.complete", async ($, e, next) => {
    if (!e.agentId) void look($)
    return next(e)
  })
  on("session.send", send)
  on("tool.call", { tool: "ListAgents" }, list)
  on("command.run", { command: "inbox" }, inbox)
}
