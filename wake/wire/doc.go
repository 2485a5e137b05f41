// Package wire gives mail to an agent that speaks the Wire protocol: the older kimi-cli, a Python program, started with
// --wire. Kimi Code, the npm package, does not speak it.
//
// This package follows the protocol's documentation (docs/en/customization/wire-mode.md, protocol 1.10), its source, and one
// of its clients, the npm package @moonshot-ai/kimi-agent-sdk 0.1.8 (protocol 1.7). The tests use a stand-in for the agent,
// and one test runs that client against the stand-in. We could not run the agent itself.
//
// c2c and the agent write lines of JSON-RPC to each other over the agent's standard streams. c2c first calls initialize
// (since 1.1; an older agent answers with an error), then prompt. The agent answers the prompt when the turn is over. Until
// then it sends events, and asks for approvals and waits for them. steer (1.4) puts words into the running turn; the event
// SteerInput (1.5) shows that the agent has taken them.
//
// The receipt is an answer of the model: content or a tool call, in a step that began after the agent took the words. The
// event TurnBegin proves nothing: it comes before the agent asks its model, and also if a hook of the user stops the prompt.
// Events of a subagent have another type.
//
// The agent adds words to its conversation before it asks the model, and leaves them there if the model fails. So c2c ends an
// agent that failed, and the next try starts a new agent. Then its model gets the words only once, unless the command line
// makes the agent continue the old conversation. An agent may start a turn by itself, and then refuse a prompt because this
// turn runs. c2c does not end such an agent, because it has taken nothing.
package wire
