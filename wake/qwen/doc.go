// Package qwen reaches an idle Qwen Code session over the client's own socket for messages between sessions.
//
// Measured with version 0.24.4, which documents the protocol (users/features/cross-session-protocol): the client
// listens on $QWEN_CODE_MESSAGING_SOCKET and takes two lines of JSON, a token and a message. With the token that it
// gives its children the message is shown to the model as that of a process which the session has started, with
// none of its user's authority. (The token in its public record would have the person asked first; that of a
// controller would make the words the user's.) The message starts a turn, after the one that runs. Every "<" in it
// becomes "&lt;". A half-typed draft and an open dialog stay. Each message is a turn, and of 40 at once 10 are
// dropped, so mail goes in one message.
//
// The client tells what it did with a message in a connection to the address that the message names: it was dropped,
// or refused, held until its person accepts it (agents.crossSessionInbound), or delivered, which means queued. The
// proof that it was read is the record of it in the session's file, <project>/chats/<session>.jsonl, which the
// client writes 20 to 40 ms before it asks the model. A message names its session; after /clear a queued one for the
// old session is dropped, and told. Under -p, and with agents.crossSessionMessaging off, there is no socket.
//
// The client's own tool, send_message, finds other sessions by records in its configuration, and writes to their
// sockets. There names of ours are shown (peers), and what is sent to them is stored (incoming).
//
// A Socket may be used by one goroutine at a time.
package qwen
