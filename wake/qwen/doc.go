// Package qwen reaches an idle Qwen Code session over the client's own socket for messages between sessions.
//
// Measured with version 0.24.4, which documents the protocol (users/features/cross-session-protocol): the client
// listens on $QWEN_CODE_MESSAGING_SOCKET and takes two lines of JSON, a token and a message. With the token that it
// gives its children, it shows the message to the model as from a process that the session has started, with none of
// its user's authority. (With the token in its public record it would ask the person first; with a controller's token
// the words would count as the user's.) The message starts a turn, after the one that runs. Every "<" in it becomes
// "&lt;". A half-typed draft and an open dialog stay. Each message is a turn, and of 40 at once the client drops 10,
// so c2c sends mail in one message.
//
// The client reports what it did with a message over a connection to the address that the message names: it has
// dropped, refused or delivered (queued) it, or holds it until its person accepts it (agents.crossSessionInbound). The
// proof that the model got it is its record in the session's file, <project>/chats/<session>.jsonl, which the client
// writes 20 to 40 ms before it asks the model. A message names its session; after /clear the client drops a queued one
// for the old session, and reports that. With -p, or agents.crossSessionMessaging off, there is no socket.
//
// The client's own tool, send_message, finds other sessions by records in its configuration, and writes to their
// sockets. c2c adds names of ours to these records (peers), and stores what arrives for them (incoming).
//
// One goroutine at a time may use a Socket.
package qwen
