package rosmsg

// Uses returns the types of those fields of a type that are messages, in order; none if its text, as in a .msg file, has errors.
func Uses(name, text string) (all []string) {
	if s, err := (&block{name: name, line: 1, text: text}).parse(); err == nil {
		for _, f := range s.fields {
			if _, builtin := kinds[f.base]; !builtin {
				all = append(all, f.base)
			}
		}
	}
	return all
}
