// Package turns records what c2c sees of a session's model: when it has worked, when it has answered, and which mail
// its client has dropped. A message counts as read when the model has answered since c2c handed it over.
package turns
