// Package wire gives mail to an agent that speaks the Wire protocol: the older kimi-cli of Python, started with
// --wire. Kimi Code of npm does not speak it.
//
// What is known is from its documentation (docs/en/customization/wire-mode.md, protocol 1.10) and its source, and from
// the npm package @moonshot-ai/kimi-agent-sdk 0.1.8, a client of it (protocol 1.7), which a test runs against the
// stand-in that the tests here use. The agent itself could not be run.
//
// The two write lines of JSON-RPC to each other's standard streams. The client asks for initialize (since 1.1; an older
// agent says that it does not know it), then for a prompt, which is answered when its turn is over. Meanwhile the agent
// tells events, and asks for approvals, which it waits for. A steer (1.4) puts words into the turn that runs; the event
// SteerInput (1.5) says that the agent has taken them.
//
// The receipt is an answer of the model: content or a tool call, in a step that began after the agent took the words.
// The agent tells that a turn began before it asks its model, and also when a hook of its user stops the prompt. What a
// subagent does is an event of another kind.
//
// The agent adds words to its conversation before it asks the model, and leaves them there when that fails. So an agent
// that failed is ended, and the next try is a new one: its model has the words once, unless the command line makes it
// continue the old conversation. One that refuses because a turn runs, which it may start by itself, has taken nothing
// and stays.
package wire
