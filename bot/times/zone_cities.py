"""
Large cities that no time zone is named after, with the zone whose clock they keep.

Sources: the cities of more than ten million people of "The World's Cities in 2018" (United Nations), the largest of a
few countries whose people ask by other names, and how some call their own city; the zones by ``zone1970.tab``.
"""

from collections.abc import Mapping
from typing import Final

_BY_ZONE: Final[Mapping[str, str]] = {
    "America/Chicago": "Austin, Dallas, Houston, Minneapolis, San Antonio",
    "America/Edmonton": "Calgary",
    "America/Los_Angeles": "Las Vegas, Portland, San Diego, San Francisco, San José, Seattle",
    "America/New_York": "Atlanta, Boston, Miami, Philadelphia, Washington",
    "America/Sao_Paulo": "Brasília, Rio de Janeiro",
    "America/Toronto": "Ottawa, Québec",
    "Asia/Karachi": "Lahore",
    "Asia/Kolkata": "Bangalore, Bengaluru, Bombay, Chennai, Delhi, Madras, Mumbai",
    "Asia/Shanghai": "Beijing, Guangzhou, Peking, Shenzhen, Tianjin",
    "Asia/Tokyo": "Kyōto, Ōsaka",
    "Europe/Athens": "Athína",
    "Europe/Berlin": "Cologne, Düsseldorf, Frankfurt, Hamburg, Köln, Leipzig, München, Munich, Stuttgart",
    "Europe/Brussels": "Bruxelles",
    "Europe/Bucharest": "București",
    "Europe/Copenhagen": "København",
    "Europe/Lisbon": "Lisboa",
    "Europe/London": "Birmingham, Cardiff, Edinburgh, Glasgow, Manchester",
    "Europe/Madrid": "Barcelona, Valencia",
    "Europe/Moscow": "Saint Petersburg, St Petersburg",
    "Europe/Paris": "Lyon, Marseille",
    "Europe/Prague": "Praha",
    "Europe/Rome": "Milan, Milano, Naples, Napoli, Roma",
    "Europe/Vienna": "Wien",
    "Europe/Warsaw": "Kraków, Warszawa",
    "Europe/Zurich": "Geneva, Genève",
    "Pacific/Auckland": "Christchurch, Wellington",
}

CITIES: Final[Mapping[str, str]] = {city: key for key, cities in _BY_ZONE.items() for city in cities.split(", ")}
"""The key of the zone by the city's name."""
