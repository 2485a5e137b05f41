// Package wire gives mail to an agent that speaks the Wire protocol: the older kimi-cli, a Python
// program, started with the option --wire. Kimi Code, the npm package, does not speak this
// protocol.
//
// This package follows the protocol's documentation (docs/en/customization/wire-mode.md, protocol
// 1.10), its source, and one of its clients, the npm package @moonshot-ai/kimi-agent-sdk 0.1.8
// (protocol 1.7). The tests use a stand-in for the agent, and one test runs this npm package
// against the stand-in. We could not run the agent itself.
//
// c2c and the agent write lines of JSON-RPC to each other over the agent's standard streams. c2c
// first calls the method initialize (since 1.1; an older agent answers with an error), then prompt.
// The agent answers the call of prompt when the turn is over. Until then it sends events; it also
// asks for approvals, and waits for them. The method steer (1.4) puts words into the running turn,
// and the event SteerInput (1.5) shows that the agent has taken these words.
//
// The receipt is an answer of the model: content or a tool call, in a step that began after the
// agent took the words. The event TurnBegin proves nothing, because it comes before the agent asks
// its model, and also if a hook of the user stops the prompt. Events of a subagent have another
// type.
//
// The agent adds words to its conversation before it asks the model, and leaves them there if the
// model fails. So c2c ends an agent that has failed, and the next try starts a new agent. The model
// of the new agent gets the words only once, unless the command line makes the agent continue the
// old conversation. An agent may start a turn by itself, and then refuse a prompt because this turn
// runs. c2c does not end such an agent, because the agent has taken no words.
package wire
