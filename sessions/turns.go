// This part records when a session's model has worked, when it has answered, and which mail its
// model has not read. A message counts as read if the model has answered after c2c handed the
// message over.

package sessions
