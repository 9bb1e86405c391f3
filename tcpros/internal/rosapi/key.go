package rosapi

// Arg returns argument i if it has type T.
func Arg[T any](args []any, i int) (v T, ok bool) {
	if i < len(args) {
		v, ok = args[i].(T)
	}
	return v, ok
}

// Kind is the kind of a registration.
type Kind uint8

// The kinds of registrations.
const (
	Subscriber Kind = iota
	Publisher
	Service
)

// String returns the kind for the log.
func (k Kind) String() string { return [...]string{"subscriber", "publisher", "service"}[k] }

// Key identifies one registration.
type Key struct {
	Kind Kind
	Name string
}

// Publishers is the master's list of publishers for one topic.
type Publishers struct {
	URIs []string
	// number of the master, one higher after each restart: a restarted master may not know all live
	// publishers yet
	Epoch int
	// from a publisherUpdate: links retry at once
	RetryNow bool
}
