export default function ( {
