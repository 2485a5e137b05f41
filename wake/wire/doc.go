// Package wire gives mail to an agent that speaks the Wire protocol: the older kimi-cli of Python, started with
// --wire. Kimi Code of npm does not speak it.
//
// What this package knows about the protocol is from its documentation (docs/en/customization/wire-mode.md, protocol 1.10) and
// its source, and from the npm package @moonshot-ai/kimi-agent-sdk 0.1.8, a client of it (protocol 1.7). A test runs that
// client against the stand-in for the agent that these tests use. We could not run the agent itself.
//
// c2c and the agent write lines of JSON-RPC to each other over the agent's standard streams. The client asks for initialize
// (since 1.1; an older agent answers with an error), then for a prompt, which the agent answers when the turn is over.
// Meanwhile the agent sends events, and asks for approvals and waits for them. A steer (1.4) puts words into the running
// turn; the event SteerInput (1.5) says that the agent has taken them.
//
// The receipt is an answer of the model: content or a tool call, in a step that began after the agent took the words. The event
// TurnBegin proves nothing: it comes before the agent asks its model, and also if a hook of the user stops the prompt. Events
// of a subagent have another kind.
//
// The agent adds words to its conversation before it asks the model, and leaves them there if that fails. So c2c ends an agent
// that failed, and the next try starts a new one: its model has the words once, unless the command line makes it continue the
// old conversation. c2c keeps an agent that refuses a prompt because a turn runs (it may start one by itself): it has taken
// nothing.
package wire
