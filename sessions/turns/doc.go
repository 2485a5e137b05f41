// Package turns keeps what is seen of a session's model: when it has worked, when it has answered, and which mail its client has
// dropped. Mail is read when the model has answered since it was handed over.
package turns
