// c2c's plugin for OpenCode 1.18, written by `c2c install opencode`. Do not edit: the next install replaces it.
//
// It starts `c2c plugin opencode`, and the two write lines of JSON to each other. The plugin says which session the
// person works in; it is given that session's mail, puts it into the session as a prompt, and says what the model
// was given. The mail stays c2c's until then. What was put stands in the session's own messages with its key, so
// nothing is put twice, not even after a crash. A message that begins a turn also gets the new posts of rooms.

import { spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { relative, resolve } from "node:path"
import { createInterface } from "node:readline"

const c2c = "c2c"
const argument = "_session_id" // of the tools of c2c: which session calls
const variable = "C2C_OPENCODE_SESSION_ID" // the same for shells
const mailing = /(^|[\s;|&()"'`/])c2c\s+(send|send-all|reply|ask|poll-inbox|peek-inbox|history|list|whoami|thread|search|status|outbox|obligations)\b/
const patience = 3000 // ms, until c2c knows a session, or answers a question
const heads = /^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.*)$/gm // the files that a patch changes
const settled = Date.now() + 30000 // the window is drawn by then, and listens

// Of each session: who waits to be heard, the message that each key stands in, the keys that its model has seen, and those of
// them that it has answered.
// Whether a turn of it runs, and which dialogs it has open, as far as events have told. The key of the new posts that its model
// is to see, or "asked".
type Session = {
  waiting: (() => void)[]
  keys: Map<string, string>
  seen: Set<string>
  answered: Set<string>
  putting?: Promise<void>
  storing?: { parts: any[]; done: () => void } // the newest message; of mail no parts, until OpenCode tells them
  stored?: Promise<void> // when it is stored
  busy?: boolean
  asks: Set<string>
  posts?: string
}

// With --port OpenCode makes the plugin twice, and only the second one gets events: they share this.
const state = ((globalThis as any).__c2c ??= { sessions: new Map(), parents: new Map(), edits: new Map(), warnings: new Map(), wait: 1000 }) as {
  client?: any
  directory?: string
  child?: any
  shown?: string
  stopped?: boolean
  wait: number
  edits: Map<string, (told: any) => void> // of each question to c2c, by its id: who waits for the answer
  warnings: Map<string, string> // of each such call: what its result is to say
  sessions: Map<string, Session>
  parents: Map<string, string> // of each session: itself, or the one that a subagent's belongs to
}

function say(line: object) {
  state.child?.stdin.write(JSON.stringify(line) + "\n", () => {})
}

function session(id: string): Session {
  let s = state.sessions.get(id)
  if (!s) state.sessions.set(id, (s = { waiting: [], keys: new Map(), seen: new Set(), answered: new Set(), asks: new Set() }))
  return s
}

// root gives the session that the person sees, which of a subagent's session is its parent.
async function root(id: string): Promise<string> {
  let found = state.parents.get(id)
  if (!found) {
    const parent = (await state.client.session.get({ path: { id } })).data?.parentID
    found = parent ? await root(parent) : id
    state.parents.set(id, found)
  }
  return found
}

// inOrder returns when the message before this one is stored. OpenCode gives a message its id, calls the plugins, and then
// stores it. It ends a turn when the message with the newest id is answered: an older one that is stored meanwhile would wait
// for the next turn.
async function inOrder(id: string, parts: any[]) {
  const s = session(id)
  const before = s.stored
  s.stored = new Promise((done) => {
    s.storing = { parts, done }
    setTimeout(done, patience) // another plugin may have refused it
  })
  await before
}

// stored notices that the newest message is stored, with all its parts.
function stored(part: any) {
  const storing = state.sessions.get(part?.sessionID)?.storing
  if (storing?.parts.at(-1)?.id === part?.id) storing?.done()
}

// meet tells c2c that this client has a session, and waits until c2c has heard it: another window may have had the
// session meanwhile.
async function meet(id: string, shown: boolean) {
  if (shown) state.shown = id
  const heard = new Promise<void>((done) => session(id).waiting.push(done))
  say({ session: id, shown: state.shown === id, answers: "told" })
  await Promise.race([heard, new Promise((done) => setTimeout(done, patience))])
}

function start() {
  if (state.stopped) return
  const child = spawn(c2c, ["plugin", "--process", String(process.pid), "opencode"], { cwd: state.directory, stdio: ["pipe", "pipe", "ignore"] })
  state.child = child
  child.stdin.on("error", () => {})
  createInterface({ input: child.stdout }).on("line", (line) => {
    let told: any
    try {
      told = JSON.parse(line)
    } catch {
      return // half of it, from a c2c that was killed
    }
    state.wait = 1000
    if (told.begin) void begin().catch(() => {}) // its mail waits for the first prompt
    else if (told.mail) putNext(told.session, told.mail)
    else if (told.call) state.edits.get(told.call)?.(told)
    else for (const heard of session(told.session).waiting.splice(0)) heard()
  })
  let over = false
  const again = () => {
    if (over || state.child !== child) return
    over = true
    for (const done of state.edits.values()) done(undefined) // it answers nobody any more
    setTimeout(start, state.wait)
    state.wait = Math.min(2 * state.wait, 60000)
  }
  child.on("error", again)
  child.on("exit", again)
  for (const id of state.sessions.keys()) {
    say({ session: id, shown: state.shown === id, answers: "told" })
    tell(id)
  }
}

// tell says what a session does, if events have told.
function tell(id: string) {
  const s = session(id)
  if (s.asks.size) say({ session: id, does: "waiting" })
  else if (s.busy !== undefined) say({ session: id, does: s.busy ? "busy" : "idle" })
}

// answered tells c2c of a session's model: it has begun to answer, or has failed for good. Only the session that the person
// sees has mail.
function answered(event: any) {
  const p = event.properties ?? {}
  const begun = event.type === "message.part.updated" && p.part?.type === "step-start"
  const id = begun ? p.part.sessionID : p.sessionID
  if (!id || !state.sessions.has(id)) return
  if (begun) {
    session(id).answered = new Set(session(id).seen)
    say({ session: id, answers: "seen" })
  }
  if (event.type === "session.error") say({ session: id, failed: String(p.error?.data?.message ?? p.error?.name ?? "unknown").slice(0, 200) })
}

// hear keeps what an event tells of a session. A subagent's dialog is open in the window of its parent, whose turn runs.
async function hear(event: any) {
  const p = event.properties ?? {}
  if (!p.sessionID || !/^(session\.status|permission\.|question\.)/.test(event.type)) return
  const id = await root(p.sessionID)
  const s = session(id)
  if (event.type === "session.status") {
    if (id !== p.sessionID) return
    s.busy = p.status?.type !== "idle"
    if (!s.busy) s.asks.clear()
  } else if (/asked|updated/.test(event.type)) s.asks.add(p.id)
  else s.asks.delete(p.requestID ?? p.permissionID)
  tell(id)
}

// begin begins a session on the home screen, where no mail can be shown, and has the window show it. A client with
// arguments may show something else, or have no window.
async function begin() {
  if ((await options()).length || state.shown) return
  const { data } = await state.client.session.create({ body: {} })
  while (!state.shown || state.shown === data.id) {
    await state.client.tui.publish({ body: { type: "tui.session.select", properties: { sessionID: data.id } } })
    if (Date.now() > settled) return
    await new Promise((done) => setTimeout(done, 1000)) // a window that is not drawn yet does not hear it
  }
}

// options are what this client was started with. A system without /proc does not tell: an error.
async function options() {
  return (await readFile("/proc/self/cmdline", "utf8")).split("\0").filter(Boolean).slice(1)
}

// resumed tells c2c of the session that the arguments choose: the window shows it, and no event tells that before its first prompt. A
// copy of it (--fork) has an event of its own. A client without a window has its prompt at once, or shows nobody a session.
async function resumed(worktree: string, directory: string) {
  const args = await options()
  if (args.some((arg) => /^((serve|web|attach|acp|run)$|--fork)/.test(arg))) return
  let id = args.join("\0").match(/(?:^|\0)(?:--session|-s)[=\0]?(ses_\w+)/)?.[1]
  if (!id && args.some((arg) => /^(--continue|-c)$/.test(arg))) id = await newest(relative(worktree, directory))
  if (!id || state.shown) return
  if ((await root(id)) === id && !state.shown) await meet(id, true)
}

// newest gives the session that --continue opens: the newest one of a folder that is not a subagent's, of the last 30 days.
async function newest(path: string): Promise<string | undefined> {
  const { data } = await state.client.session.list({ query: { start: Date.now() - 2592000000, path } })
  return data?.filter((s: any) => !s.parentID).sort((a: any, b: any) => b.time.updated - a.time.updated)[0]?.id
}

// front has the window show a session, whose turn is about to begin: it may be on the home screen, to which /new leads and of
// which no event tells. What is typed there moves along. A server that others look at may have several windows.
async function front(id: string) {
  if ((await options()).some((option) => /^((serve|web|attach|acp|run)$|--(port|hostname|mdns))/.test(option))) return
  await state.client.tui.publish({ body: { type: "tui.session.select", properties: { sessionID: id } } })
}

// stands remembers in which message of a session mail stands.
function stands(id: string, message: string, parts: any[]) {
  for (const part of parts) if (part.metadata?.c2c) session(id).keys.set(part.metadata.c2c, message)
}

// worked tells the loop guard of c2c what a session does: it calls a tool, or a shell or tool of ours, or its person writes.
async function worked(id: string, what: "tool" | "mail" | "prompt") {
  try {
    say({ session: await root(id), works: what })
  } catch {
    // the client does not know the session any more
  }
}

// undone tells c2c of mail that its person took out of the conversation before the model had it. It is offered again.
function undone(id: string, message: string) {
  const s = state.sessions.get(id)
  if (!s) return
  const gone = [...s.keys].filter(([key, where]) => where === message && !s.seen.has(key))
  for (const [key] of gone) s.keys.delete(key)
  if (gone.some(([key]) => key !== s.posts)) say({ session: id, refused: "its person has undone it" })
}

// edited gives the files that a call changes.
function edited(tool: string, args: any): string[] {
  const names =
    tool === "apply_patch" ? Array.from(String(args?.patchText ?? "").matchAll(heads), (head) => head[1].trim()) : /^(edit|write)$/.test(tool) ? [args?.filePath] : []
  return names.filter((name) => name && typeof name === "string").map((name) => resolve(state.directory ?? "", name))
}

// ask gives the answer of c2c to a question, or undefined.
async function ask(id: string, call: string, question: object): Promise<any> {
  const child = state.child
  if (!child?.pid || child.exitCode !== null) return
  const told = await new Promise((done) => {
    state.edits.set(call, done)
    setTimeout(done, patience)
    say({ session: id, call, ...question })
  })
  state.edits.delete(call)
  return told
}

// addPosts puts the new posts of rooms into a message that begins a turn. The person does not see them there. It puts none while
// others wait for the model: c2c would give the same ones again.
async function addPosts(id: string, message: string, parts: any[]) {
  const s = session(id)
  const waits = s.posts === "asked" || (s.posts && s.keys.has(s.posts) && !s.seen.has(s.posts))
  if (s.busy || waits || !parts.length) return
  s.posts = "asked"
  const news = (await ask(id, "posts-" + message, { news: true }))?.news
  s.posts = news?.key
  if (!news) return
  if (s.seen.has(news.key)) say({ session: id, has: [news.key] }) // no c2c may have heard it
  if (s.keys.has(news.key)) return
  const last = parts[parts.length - 1]
  parts.push({ id: last.id + "c2c", sessionID: id, messageID: message, type: "text", synthetic: true, text: news.text, metadata: { c2c: news.key } })
  stands(id, message, parts)
}

// claimed asks c2c who else holds the files that a call is about to change, and gives the reason if the project refuses that.
// Otherwise the result of the call says who does. Without an answer the call goes on.
async function claimed(call: any, edits: string[]): Promise<string | undefined> {
  const id = await root(call.sessionID).catch(() => undefined)
  if (!id) return
  const told = await ask(id, call.callID, { edits })
  if (told?.warning) state.warnings.set(call.callID, told.warning)
  return told?.refusal
}

type Mail = { key: string; from?: string; text: string }

// putNext puts mail when what was put before stands in the session: what a c2c that was killed had offered is offered
// again by the next one.
function putNext(id: string, mail: Mail[]) {
  const s = session(id)
  s.putting = (s.putting ?? Promise.resolve()).then(() => put(id, mail))
}

// put gives mail to a session, as one prompt. The session's last agent and model stay what they are.
async function put(id: string, mail: Mail[]) {
  const s = session(id)
  try {
    let last: any
    const messages = (await state.client.session.messages({ path: { id } })).data ?? []
    for (const m of messages) {
      if (m.info.role === "user") last = m.info
      stands(id, m.info.id, m.parts)
    }
    const has = mail.filter((m) => s.seen.has(m.key)).map((m) => m.key)
    if (has.length) say({ session: id, has })
    if (has.length && has.every((key) => s.answered.has(key))) say({ session: id, answers: "seen" }) // no c2c may have heard it
    const fresh = mail.filter((m) => !s.keys.has(m.key))
    if (!fresh.length) return
    if (!s.busy) await front(id).catch(() => {}) // mail goes in all the same, without /proc or a window
    await inOrder(id, [])
    const { error } = await state.client.session.promptAsync({
      path: { id },
      body: {
        agent: last?.agent,
        model: last?.model && { providerID: last.model.providerID, modelID: last.model.modelID },
        parts: fresh.map((m) => ({ type: "text", text: m.text, metadata: { c2c: m.key } })),
      },
    })
    if (error) throw error
    for (const m of fresh) if (!s.keys.has(m.key)) s.keys.set(m.key, "")
    const from = [...new Set(fresh.map((m) => m.from ?? "another agent"))].join(", ")
    void state.client.tui.showToast({ body: { title: "c2c", message: "Mail from " + from, variant: "info" } }).catch(() => {})
  } catch (e: any) {
    say({ session: id, refused: String(e?.message ?? e?.data?.message ?? e?.name ?? e).slice(0, 200) })
  }
}

async function server(input: any) {
  state.client = input.client
  state.directory = input.directory
  state.stopped = false
  if (!state.child) start()
  void resumed(input.worktree, input.directory).catch(() => {}) // then its first prompt tells of it
  return {
    event: async ({ event }: any) => {
      const info = event.properties?.info
      if (event.type === "session.created" && info && !info.parentID) void meet(info.id, true)
      void hear(event).catch(() => {})
      answered(event)
      if (event.type === "message.part.updated") stored(event.properties?.part)
      if (event.type === "message.removed") undone(event.properties.sessionID, event.properties.messageID)
    },
    "chat.message": async (message: any, output: any) => {
      const id = message.sessionID
      if ((await root(id)) !== id) return // a subagent's
      const mail = output.parts.some((part: any) => part.metadata?.c2c)
      if (!mail) await inOrder(id, output.parts)
      else if (session(id).storing) session(id).storing!.parts = output.parts
      stands(id, output.message.id, output.parts)
      await meet(id, !mail)
      if (!mail) void worked(id, "prompt")
      await addPosts(id, output.message.id, output.parts)
    },
    "tool.execute.before": async (call: any, output: any) => {
      const ours = call.tool.startsWith("c2c_")
      if (!ours && !mailing.test(String(output.args?.command ?? ""))) {
        void worked(call.sessionID, "tool")
        const edits = edited(call.tool, output.args)
        const refusal = edits.length ? await claimed(call, edits) : undefined
        if (refusal) throw new Error(refusal)
        return
      }
      void worked(call.sessionID, "mail")
      if (!ours || !output.args || typeof output.args !== "object") return
      const id = await root(call.sessionID)
      await meet(id, false)
      output.args[argument] = id
    },
    "tool.execute.after": async (call: any, output: any) => {
      const warning = state.warnings.get(call.callID)
      if (!warning) return
      state.warnings.delete(call.callID)
      output.output += "\n" + warning
    },
    "shell.env": async (shell: any, output: any) => {
      if (!shell.sessionID) return
      const id = await root(shell.sessionID)
      await meet(id, false)
      output.env[variable] = id
    },
    // What a request to the model holds: the proof that it has the mail.
    "experimental.chat.messages.transform": async (_: any, output: any) => {
      const has = new Map<string, string[]>()
      for (const m of output.messages) {
        for (const part of m.parts) {
          const key = part.metadata?.c2c
          const s = key && session(m.info.sessionID)
          if (!s || s.seen.has(key)) continue
          s.seen.add(key)
          has.set(m.info.sessionID, [...(has.get(m.info.sessionID) ?? []), key])
        }
      }
      for (const [id, keys] of has) say({ session: id, has: keys })
    },
    dispose: async () => {
      state.stopped = true
      state.child?.stdin.end()
      state.child = undefined
    },
  }
}

// OpenCode 2 loads no plugin without setup, and 1.18 calls it too. c2c does nothing in OpenCode 2 yet.
async function setup() {}

export default { id: "c2c", server, setup }
