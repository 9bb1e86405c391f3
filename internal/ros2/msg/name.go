package msg

import "strings"

// LegalName returns a name that rosidl accepts for a package or a field: lowercase letters, digits and single
// underscores, with a letter first and no underscore last. A legal name stays as it is. A capital becomes a
// lowercase letter, without an underscore before it: so ros1_bridge compares names.
func LegalName(name string) string { return squeeze(strings.ToLower(name), "f_") }

// LegalConstant returns a name that rosidl accepts for a constant: as LegalName, in capitals.
func LegalConstant(name string) string { return squeeze(strings.ToUpper(name), "C_") }

// squeeze drops the underscores that rosidl refuses, and all characters but letters of ASCII, digits and
// underscores. A name that does not begin with a letter then gets the prefix first.
func squeeze(name, first string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r == '_':
			if s := b.String(); s != "" && !strings.HasSuffix(s, "_") {
				b.WriteByte('_')
			}
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		}
	}
	s := strings.TrimSuffix(b.String(), "_")
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		s = strings.TrimSuffix(first+s, "_")
	}
	return s
}

// LegalMessage returns a name that rosidl accepts for a message: letters and digits, a capital first. A
// letter after a dropped underscore becomes a capital: "RawPacket" for "raw_packet".
func LegalMessage(name string) string {
	var b strings.Builder
	up := true
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z' && up:
			b.WriteRune(r - 'a' + 'A')
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			b.WriteRune(r)
		case r >= '0' && r <= '9':
			if b.Len() == 0 {
				b.WriteByte('M')
			}
			b.WriteRune(r)
		default:
			up = true
			continue
		}
		up = false
	}
	if b.Len() == 0 {
		return "M"
	}
	return b.String()
}
