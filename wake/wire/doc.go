// Package wire gives mail to an agent that speaks the Wire protocol: the older kimi-cli of Python, started with
// --wire. Kimi Code of npm does not speak it.
//
// What this package knows about the protocol is from its documentation (docs/en/customization/wire-mode.md, protocol 1.10) and
// its source, and from the npm package @moonshot-ai/kimi-agent-sdk 0.1.8, a client of it (protocol 1.7). A test runs that
// client against the stand-in for the agent that these tests use. The agent itself could not be run.
//
// c2c and the agent write lines of JSON-RPC to each other over the agent's standard streams. The client asks for initialize
// (since 1.1; an older agent says that it does not know it), then for a prompt, which is answered when its turn is over.
// Meanwhile the agent sends events, and asks for approvals and waits for them. A steer (1.4) puts words into the turn that
// runs; the event SteerInput (1.5) says that the agent has taken them.
//
// The receipt is an answer of the model: content or a tool call, in a step that began after the agent took the words. An event
// that a turn began proves nothing: it comes before the agent asks its model, and also when a hook of its user stops the
// prompt. What a subagent does is an event of another kind.
//
// The agent adds words to its conversation before it asks the model, and leaves them there when that fails. So an agent that
// failed is ended, and the next try is a new one: its model has the words once, unless the command line makes it continue the
// old conversation. An agent that refuses a prompt because a turn runs (it may start one by itself) has taken nothing, and is
// kept.
package wire
