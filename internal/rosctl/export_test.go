package rosctl

import "github.com/gorosbag/gorosbag/internal/command"

// Call carries out a command for a service.
var Call = call

// Offers returns the services and topics of commands, each with its type.
func Offers(all []command.Command) (offers []string) {
	for i := range all {
		if c := &all[i]; c.Service != "" {
			offers = append(offers, "~"+c.Service+" "+serviceType(c).Type)
		}
		if c := &all[i]; c.Topic != "" {
			offers = append(offers, "~"+c.Topic+" "+messages[c.Params[0].Kind].typ)
		}
	}
	return offers
}
