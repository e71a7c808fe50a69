"""Unilateral contact with friction and restitution, of points and spheres of a robot with planes and with each other.

>>> import qddot
>>> from qddot.contact import Contacts, Plane, Sphere, simulate
"""

from qddot.contact.event_driven import Bounces, bounce
from qddot.contact.shapes import Contacts, Plane, Sphere
from qddot.contact.time_stepping import ContactMotion, simulate

__all__ = ["Bounces", "ContactMotion", "Contacts", "Plane", "Sphere", "bounce", "simulate"]
