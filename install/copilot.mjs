// c2c's extension for GitHub Copilot CLI 1.0, written by `c2c install copilot`. Do not edit: the next install replaces it.
//
// Copilot starts one for each session. It starts `c2c plugin copilot`, and the two write lines of JSON to each other:
// it is given the session's mail, sends it into the session as a message, and says what the model was given. The mail
// stays c2c's until then. What was sent stands in the session's own events, so nothing is sent twice. Mail that begins a
// turn also brings the new posts of rooms.

import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { joinSession } from "@github/copilot-sdk/extension"

const c2c = "c2c"
const client = String(process.ppid) // Copilot: when it has died we have another parent

const session = await joinSession({})
const sent = new Map() // the keys of each message that was sent, by its id
const entered = new Set() // keys of what stands in the conversation
const early = new Set() // ids of messages that stood there before send had told their id
let seen = [] // entered, and no request to the model since
let asked = [] // entered, and a request since
const answered = new Set() // keys of what the model has answered
let child
const tools = new Set() // the calls that run
let rested = () => {} // told when none does
let putting = Promise.resolve() // one offer after the other: a c2c that was killed may have made the same one
const asking = new Map() // of each question to c2c, by its id: who waits for the answer
const patience = 3000 // ms, for an answer
let postKey // of the last posts of rooms that were sent
let wait = 1000 // ms, before c2c is started again

let does // what the session does now

// tell says what the session does. Of a dialog that opens a hook tells c2c, so it says again what it said before.
function tell(now) {
  does = now
  say({ does })
}

session.on("assistant.turn_start", () => tell("busy"))
session.on("permission.completed", () => tell("busy"))
session.on("session.idle", () => {
  rest()
  tell("idle")
})
session.on("tool.execution_start", (event) => tools.add(event.data?.toolCallId))
session.on("tool.execution_complete", (event) => {
  tools.delete(event.data?.toolCallId)
  if (!tools.size) rest()
})

function rest() {
  tools.clear()
  rested()
}

// A message that comes while a command runs has Copilot push that into the background, and tell its model that the user
// did. So it waits for the end of the last call: the model has it with its next step all the same.
async function betweenCalls() {
  while (tools.size) await new Promise((resolve) => (rested = resolve))
}

function say(line) {
  child?.stdin.write(JSON.stringify({ session: session.sessionId, ...line }) + "\n", () => {})
}

session.on("user.message", (event) => {
  const id = event.data?.messageId ?? event.id
  if (sent.has(id)) enter(sent.get(id))
  else early.add(id)
})
session.on("model.call_start", () => {
  if (seen.length) say({ has: seen })
  asked.push(...seen)
  seen = []
})
session.on("model.call_finished", (event) => {
  if (event.data?.outcome !== "success") return
  for (const key of asked.splice(0)) answered.add(key)
  say({ answers: "seen" })
})
session.on("session.error", (event) => say({ failed: String(event.data?.message ?? event.data?.errorType ?? "unknown").slice(0, 200) }))

function enter(keys) {
  for (const key of keys) {
    if (!entered.has(key)) seen.push(key)
    entered.add(key)
  }
}

// conversation gives what was said to the model in this session so far.
async function conversation() {
  let events = ""
  try {
    events = await readFile(join(session.workspacePath, "events.jsonl"), "utf8")
  } catch {} // a new session has none yet
  return events.split("\n").filter((l) => l.includes('"user.message"')).map(content)
}

function content(line) {
  try {
    return JSON.parse(line).data?.content ?? ""
  } catch {
    return "" // written by half, by a Copilot that died or is writing
  }
}

// envelope is the message itself, without the line that stands before the first one of an offer.
const envelope = (m) => m.text.slice(m.text.indexOf("<c2c "))

// newPosts gives the new posts of rooms for mail that begins a turn. It gives none while others wait for the model: c2c would
// give the same ones again.
async function newPosts(said) {
  if (does === "busy" || (postKey && !asked.includes(postKey) && !answered.has(postKey))) return
  const call = randomUUID()
  const told = await new Promise((done) => {
    asking.set(call, done)
    setTimeout(done, patience)
    say({ call, news: true })
  })
  asking.delete(call)
  const news = told?.news
  if (!news) return
  if (said.some((text) => text.includes(news.text))) return void say({ has: [news.key] }) // no c2c may have heard it
  return news
}

// put sends mail into the session: an idle one begins a turn with it, a busy one has it with its next step, behind the calls
// that run.
async function put(mail) {
  try {
    const said = await conversation()
    const there = mail.filter((m) => said.some((text) => text.includes(envelope(m))))
    if (there.length) say({ has: there.map((m) => m.key) })
    if (there.length && there.every((m) => answered.has(m.key))) say({ answers: "seen" }) // no c2c may have heard it
    const waiting = new Set([...sent.values()].flat())
    const fresh = mail.filter((m) => !there.includes(m) && !waiting.has(m.key))
    if (!fresh.length) return
    await betweenCalls()
    const posts = await newPosts(said)
    if (posts) fresh.push(posts)
    const id = await session.send({ prompt: fresh.map((m) => m.text).join("\n"), mode: "immediate" })
    sent.set(id, fresh.map((m) => m.key))
    if (posts) postKey = posts.key // not before: what was not sent never comes to the model, and nothing may wait for it
    if (early.has(id)) enter(sent.get(id))
  } catch (e) {
    say({ refused: String(e?.message ?? e).slice(0, 200) })
  }
}

function start() {
  const mine = (child = spawn(c2c, ["plugin", "--process", client, "copilot"], { stdio: ["pipe", "pipe", "ignore"] }))
  mine.stdin.on("error", () => {})
  createInterface({ input: mine.stdout }).on("line", (line) => {
    let told
    try {
      told = JSON.parse(line)
    } catch {
      return // half of it, from a c2c that was killed
    }
    wait = 1000
    if (told.mail) putting = putting.then(() => put(told.mail))
    else if (told.call) asking.get(told.call)?.(told)
  })
  let over = false
  const again = () => {
    if (over) return
    over = true
    setTimeout(start, wait)
    wait = Math.min(2 * wait, 60000)
  }
  mine.on("error", again)
  mine.on("exit", again)
  say({ shown: true, answers: "told" })
  if (does) say({ does })
}

start()
