package config

import (
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gorosbag/gorosbag/internal/units"
)

// Value says what the values of an option may be, and what they set.
type Value struct {
	kind    kind
	choices []string     // all values that are allowed; nil means any that read accepts
	number  string       // what the VALUE of pairs is, such as "a number"
	literal bool         // not a text: in a file it needs no quotes
	address bool         // with optional: HOST:PORT as the next argument is the value
	many    bool         // on the command line, takes all words up to the next option
	info    reflect.Type // of the field by which kong prints something and exits; nil elsewhere

	read func(text string) (set func(), err error) // set stores the value
}

// kind says how values are given.
type kind int

const (
	one      kind = iota
	toggle        // the bare option means true
	optional      // as toggle, but other values are possible
	list          // may be given several times
	pairs         // as list, of KEY=VALUE
)

// Func is an option with one value: read reads it, checks refuse it, and set gets it.
func Func[T any](set func(T), read func(text string) (T, error), checks ...func(T) error) Value {
	return Value{literal: reflect.TypeFor[T]().Kind() != reflect.String, read: func(text string) (func(), error) {
		v, err := read(text)
		for _, check := range checks {
			if err == nil {
				err = check(v)
			}
		}
		return func() { set(v) }, err
	}}
}

// To is an option with one value, which read makes to what is stored in to.
func To[T any](to *T, read func(text string) (T, error), checks ...func(T) error) Value {
	return Func(func(v T) { *to = v }, read, checks...)
}

// Text is an option whose value is a text.
func Text(to *string, checks ...func(string) error) Value { return To(to, units.Same, checks...) }

// Texts is an option that may be given several times, and whose values are texts.
func Texts(to *[]string, checks ...func(string) error) Value {
	v := Func(func(text string) { *to = append(*to, text) }, units.Same, checks...)
	v.kind = list
	return v
}

// Many makes an option that may be given several times take all words up to the next option.
func Many(v Value) Value {
	v.many = true
	return v
}

// Switch is an option that is on when it is given without a value.
func Switch(to *bool) Value {
	v := To(to, units.Switch)
	v.kind = toggle
	return v
}

// Optional is an option that may have a value. Without one read gets "true".
func Optional[T any](to *T, read func(text string) (T, error)) Value {
	v := To(to, read)
	v.kind = optional
	return v
}

// Address is an option that may have an address HOST:PORT. The bare option stores standard, and false
// an empty text. The port, and with bare the host, may be left out.
func Address(to *string, standard string, bare bool) Value {
	v := Optional(to, func(text string) (string, error) {
		host, port, _ := net.SplitHostPort(standard)
		if _, err := strconv.ParseUint(text, 10, 16); err == nil && bare { // before the words of a switch, which are 0 and 1, too
			return net.JoinHostPort(host, text), nil
		}
		switch on, err := units.Switch(text); {
		case err != nil:
			return units.HostPort(text, standard, port)
		case on:
			return standard, nil
		}
		return "", nil
	})
	v.address = true
	return v
}

// OneOf is an option that has one of the values in names, with | between them: the first one stores
// the first of values, and so on.
func OneOf[T any](to *T, names string, values ...T) Value {
	choices := strings.Split(names, "|")
	return Value{choices: choices, read: func(text string) (func(), error) {
		i := slices.Index(choices, text)
		if i < 0 {
			return nil, errExpected
		}
		return func() { *to = values[i] }, nil
	}}
}

// Pairs is an option that may be given several times, as KEY=NUMBER. The last number of a key counts.
func Pairs[N int | float64](to *map[string]N, read func(text string) (N, error), check func(key string, n N) error) Value {
	v := Value{kind: pairs, literal: true, number: "a number", read: func(text string) (func(), error) {
		key, number, ok := strings.Cut(text, "=")
		n, err := read(number)
		if !ok || err != nil {
			return nil, errExpected
		}
		return func() {
			if *to == nil {
				*to = make(map[string]N)
			}
			(*to)[key] = n
		}, check(key, n)
	}}
	if reflect.TypeFor[N]().Kind() == reflect.Int {
		v.number = "a whole number"
	}
	return v
}

// Manual is an option that prints the manual page and ends the program.
func Manual() Value { return info(reflect.TypeFor[ManFlag]()) }

// Version is an option that prints the version and ends the program.
func Version() Value { return info(reflect.TypeFor[kong.VersionFlag]()) }

func info(field reflect.Type) Value {
	v := Switch(new(bool))
	v.info = field
	return v
}

// HelpOf returns the help of a field of T, which programs with commands have as an option by its tag.
func HelpOf[T any](field string) string {
	f, ok := reflect.TypeFor[T]().FieldByName(field)
	if !ok {
		panic("config: no field " + field)
	}
	return f.Tag.Get("help")
}
