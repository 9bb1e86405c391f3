package tcpros

// The services of std_srvs.
var (
	// EmptyService has an empty request and an empty response.
	EmptyService = ServiceType{Type: "std_srvs/Empty", MD5Sum: "d41d8cd98f00b204e9800998ecf8427e"}
	// TriggerService has an empty request, and a response with a bool success and a string message.
	TriggerService = ServiceType{Type: "std_srvs/Trigger", MD5Sum: "937c9679a518e3a18d831e57125ea522"}
	// SetBoolService has a request with a bool data, and a response as TriggerService.
	SetBoolService = ServiceType{Type: "std_srvs/SetBool", MD5Sum: "09fb03525b03e7ea1fd3992bafd87e16"}
)
