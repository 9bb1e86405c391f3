package ros2msg

import "strings"

// LegalPackage makes a name that rosidl accepts for a package or a field: small letters,
// digits and single underscores, a letter first, no underscore last. A legal name stays.
// Capitals become small without an underscore before them, as ros1_bridge compares names.
func LegalPackage(name string) string { return squeeze(strings.ToLower(name), "f_") }

// LegalField is LegalPackage for fields, which have the same rules.
func LegalField(name string) string { return LegalPackage(name) }

// LegalConstant makes a name that rosidl accepts for a constant: the same in capitals.
func LegalConstant(name string) string { return squeeze(strings.ToUpper(name), "C_") }

// squeeze drops the underscores that rosidl refuses, and whatever is no letter of ASCII, digit
// or underscore. It puts first before a name that does not begin with a letter.
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

// LegalMessage makes a name that rosidl accepts for a message: letters and digits, a
// capital first. A letter after a dropped underscore becomes a capital, so that
// "raw_packet" is "RawPacket".
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
