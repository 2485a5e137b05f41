// This part writes c2c's own messages, the notices. Most of them tell the sender of a message, once, that nobody has read the message,
// that it has expired, or that it was refused. The package also keeps the dead letters: messages that no session will read.

package owed
