// Package moves takes mail from one mailbox to another: when a session hands over or takes over, when it was swept and comes
// back, when its alias went to another one, and when an older version has left some. A message is in one of the two mailboxes at
// any time, or in both with one id.
package moves
