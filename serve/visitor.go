package serve

import "net/http"

// Kind is the kind of key that a visitor has shown. No kind includes the rights of another one.
type Kind int

const (
	Anyone Kind = iota // no key
	Tools              // the tool token: an agent's client
	Sender             // the token of a sender outside
	Person             // the login of the page
)

// Visitor is the program or person that has sent a request, as its key shows. Only a sender or a
// person has Name and Root.
type Visitor struct {
	Kind       Kind
	Name, Root string
}

// VisitorOf returns the visitor of a request that came through a Server.
func VisitorOf(r *http.Request) Visitor {
	v, _ := r.Context().Value(visitorKey{}).(Visitor)
	return v
}

type visitorKey struct{}
