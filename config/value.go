package config

import (
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gorosbag/gorosbag/internal/text/units"
)

// Value reads the texts of an option, and stores the values.
type Value struct {
	kind kind
	// all values that are allowed; nil means any that read accepts
	choices []string
	// for pairs: what the text after = has to be, such as "a number"
	number string
	// the value is no text: YAML needs no quotes around it
	literal bool
	// for optional: if the next argument is an address, it is the value
	address bool
	// for address: or if it is a port alone
	port bool
	// for list: all words up to the next option are values
	many bool
	// type of the field with which kong prints something and ends the program; nil for other options
	info reflect.Type

	read func(text string) (set func(), err error) // reads and checks one text; set stores what it means
}

// kind is how the values of an option are given.
type kind int

const (
	one      kind = iota
	toggle        // a switch: the option without a value means true
	optional      // as toggle, but with other values beside true and false
	list          // may be given several times
	pairs         // as list, of KEY=VALUE
)

// Func declares one value. read makes a T of the text, checks return why that T is refused, and set is called
// with the T once all values of the command line, the environment and the file were read.
func Func[T any](set func(T), read func(text string) (T, error), checks ...func(T) error) Value {
	return Value{
		literal: reflect.TypeFor[T]().Kind() != reflect.String,
		read: func(text string) (func(), error) {
			v, err := read(text)
			for _, check := range checks {
				if err == nil {
					err = check(v)
				}
			}
			return func() { set(v) }, err
		},
	}
}

// To declares one value, which is stored in to.
func To[T any](to *T, read func(text string) (T, error), checks ...func(T) error) Value {
	return Func(func(v T) { *to = v }, read, checks...)
}

// Text declares a text.
func Text(to *string, checks ...func(string) error) Value { return To(to, units.Same, checks...) }

// Texts declares a list of texts: the option may be given several times.
func Texts(to *[]string, checks ...func(string) error) Value {
	v := Func(func(text string) { *to = append(*to, text) }, units.Same, checks...)
	v.kind = list
	return v
}

// Many makes a list take all words of the command line up to the next option, as --topics /a /b.
func Many(v Value) Value {
	v.many = true
	return v
}

// Switch declares a switch: the option without a value means true.
func Switch(to *bool) Value { return Toggle(func(on bool) { *to = on }) }

// Toggle declares a switch whose value set stores.
func Toggle(set func(on bool)) Value {
	v := Func(set, units.Switch)
	v.kind = toggle
	return v
}

// Optional declares a value that may be left out: then read gets "true".
func Optional[T any](to *T, read func(text string) (T, error)) Value {
	v := To(to, read)
	v.kind = optional
	return v
}

// Address declares an address HOST:PORT that may be left out. The option without a value stores standard, and
// the value false an empty text. The port may be left out, and with bare a port alone is accepted.
func Address(to *string, standard string, bare bool) Value {
	v := Optional(to, func(text string) (string, error) {
		host, port, _ := net.SplitHostPort(standard)
		// before the words of a switch, which are 0 and 1, too
		if _, err := strconv.ParseUint(text, 10, 16); err == nil && bare {
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
	v.address, v.port = true, bare
	return v
}

// OneOf declares a choice. names are the texts that are accepted, with | between them; the first text stores
// the first of values, the second text the second, and so on.
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

// Pairs declares a list of KEY=NUMBER. Of several numbers for one key the last one is stored.
func Pairs[N int | float64](to *map[string]N, read func(text string) (N, error),
	check func(key string, n N) error,
) Value {
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

// Manual declares an option that prints the manual page and ends the program.
func Manual() Value { return info(reflect.TypeFor[ManFlag]()) }

// Version declares an option that prints the version and ends the program.
func Version() Value { return info(reflect.TypeFor[VersionFlag]()) }

func info(field reflect.Type) Value {
	v := Switch(new(bool))
	v.info = field
	return v
}

// HelpOf returns the help in the tag of a field of T. gobag and gomaster have options by such tags; a table
// that has the same option takes its help from the tag.
func HelpOf[T any](field string) string {
	f, ok := reflect.TypeFor[T]().FieldByName(field)
	if !ok {
		panic("config: no field " + field)
	}
	return f.Tag.Get("help")
}
