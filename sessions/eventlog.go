// This part writes and reads broker.log: one line for each event in a root, such as a sent message,
// without the text of messages.

package sessions
