package serve

import "net/http"

// Kind is which key a visitor has shown. No kind includes another.
type Kind int

const (
	Anyone Kind = iota // no key
	Tools              // the tool token: an agent's client
	Sender             // the token of a sender
	Person             // the login of the page
)

func (k Kind) String() string {
	return [...]string{"anyone", "tools", "outside", "person"}[k]
}

// Visitor is the sender of a request, as its key says. Name and Root are those of a sender or a person.
type Visitor struct {
	Kind       Kind
	Name, Root string
}

// Process is the client's end of a connection. PID 0: it cannot be seen.
type Process struct{ PID, UID int }

// VisitorOf is the sender of a request that came through a Server.
func VisitorOf(r *http.Request) Visitor {
	v, _ := r.Context().Value(visitorKey{}).(Visitor)
	return v
}

type visitorKey struct{}
